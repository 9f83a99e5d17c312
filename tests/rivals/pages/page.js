// Shared by the page of every runtime: it answers the driver, and embeds a first image on its own if the address asks for it.

/** Images as numbers in 0..1, the same for all. */
export function images(count, side) {
  return Float32Array.from({ length: count * 3 * side * side }, (_, at) => (Math.sin(at * 0.37) * Math.cos(at * 0.0113) + 1) / 2);
}

/** Rows for an objective. */
export function rows(count, columns, seed) {
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: columns }, (_, j) => Math.sin((seed + i * columns + j) * 12.9898)),
  );
}

const SIDES = { lenet5: 32, resnet18: 224 };

/** The shortest time in milliseconds that a page's coarse clock measures reliably. */
const SHORTEST = 5;

/** Milliseconds of a call: the median over `count` turns, each of as many calls as the clock needs. */
async function median(call, count) {
  const turn = async (calls) => {
    const begun = performance.now();
    for (let at = 0; at < calls; at++) await call();
    return performance.now() - begun;
  };
  await turn(1);
  const calls = Math.ceil(SHORTEST / Math.max(await turn(1), SHORTEST / 50));
  const taken = [];
  for (let at = 0; at < count; at++) taken.push((await turn(calls)) / calls);
  return taken.sort((a, b) => a - b)[count >> 1];
}

/** Offers the driver what a runtime can do. */
export function expose({ open, objective, train }) {
  const opened = {};
  const embedder = async (network, device) => (opened[network + device] ??= await open(network, device));
  const embed = async (network, device, count) => {
    const side = SIDES[network];
    const batch = images(count, side);
    const encoder = await embedder(network, device);
    return () => encoder(batch, [count, 3, side, side]);
  };
  const differentiate = async (count, columns, device) => {
    const run = await objective(device);
    const [a, b] = [rows(count, columns, 0), rows(count, columns, 9999)];
    return run(a, b);
  };
  window.rival = {
    /** The first numbers of a vector, which all have to agree on. */
    vector: async (network, device) => [...(await (await embed(network, device, 1))()).slice(0, 8)],
    latency: async (network, device, count, repeats) => median(await embed(network, device, count), repeats),
    loss: async (device) => (await (await differentiate(64, 2, device))()).loss,
    gradient: async (count, columns, device, repeats) => median(await differentiate(count, columns, device), repeats),
    views: train,
    repeat: async (what, times) => {
      const call = what === "embed" ? await embed("lenet5", "cpu", 1) : await differentiate(64, 2, "cpu");
      for (let at = 0; at < times; at++) await call();
    },
  };
  if (new URLSearchParams(location.search).has("first")) {
    window.first = window.rival.vector("lenet5", "cpu").then(() => performance.now());
  }
}
