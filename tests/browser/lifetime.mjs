// How encoders come and go.
// A job: { package, data, webgpu, device, checkpoint, image, run }; `data` is the folder of the files it names, `run` are
// the options of a trainer.
import { workersLeft } from "./workers.mjs";

export default async function (job, page, serve) {
  page.setDefaultTimeout(180_000);
  const requests = [];
  const bundles = [];
  page.on("request", (request) => {
    if (request.url().includes("safetensors")) requests.push(request.method());
    if (request.url().endsWith(".wasm")) bundles.push(request.url().split("/").pop());
  });
  await page.goto(await serve({ package: job.package, data: job.data }));
  const result = job.webgpu ? { lost: await page.evaluate(lose, job) } : {};
  if (!job.webgpu) {
    result.turns = await page.evaluate(takeTurns, job);
    result.workers = await workersLeft(page);
    result.aborted = await page.evaluate(takeBack, job);
    result.asked = await page.evaluate(ask, job);
    result.changed = await page.evaluate(change, job);
    requests.length = 0;
    result.cache = await page.evaluate(keep, job);
    result.requests = requests.join(" ");
  }
  return { ...result, bundles };
}

/** Ten encoders in turn, in this thread and in workers; gives the bytes of WebAssembly memory after each. */
async function takeTurns({ device, checkpoint, image }) {
  const memories = [];
  const instantiate = WebAssembly.instantiate;
  WebAssembly.instantiate = async (...input) => {
    const instance = await instantiate.apply(WebAssembly, input);
    memories.push(instance.exports.memory);
    return instance;
  };
  const { Encoder } = await import("/package/index.js");
  const blob = await (await fetch(`/data/${image}`)).blob();
  const bytes = [];
  for (let turn = 0; turn < 10; turn++) {
    const encoder = await Encoder.load(`/data/${checkpoint}`, { device, worker: false });
    await encoder.embedBatch(Array(32).fill(blob));
    encoder.dispose();
    // The worker frees an encoder after the calls that it is answering.
    await new Promise((resolve) => setTimeout(resolve, 50));
    bytes.push(memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0));
    const other = await Encoder.load(`/data/${checkpoint}`, { device });
    await other.embed(blob);
    other.dispose();
  }
  WebAssembly.instantiate = instantiate;
  return { bytes, instances: memories.length };
}

/** A long call that is taken back, and how long the next one waits for it. */
async function takeBack({ device, checkpoint, image }) {
  const { Encoder } = await import("/package/index.js");
  const messageOf = (promise) => promise.then(() => "", (error) => error.message);
  const encoder = await Encoder.load(`/data/${checkpoint}`, { device });
  const bitmap = await createImageBitmap(await (await fetch(`/data/${image}`)).blob());
  const count = 6000;
  const data = new Float32Array(count * 3 * 32 * 32).fill(0.5);
  const images = { data, dims: [count, 3, 32, 32] };
  const begun = performance.now();
  await encoder.embedBatch(images);
  const whole = performance.now() - begun;
  const controller = new AbortController();
  const call = encoder.embedBatch(images, { signal: controller.signal }).then(() => "", (error) => error.message);
  setTimeout(() => controller.abort(new Error("taken back")), whole / 10);
  const message = await call;
  const after = performance.now();
  const length = (await encoder.embed(bitmap)).length;
  const waited = performance.now() - after;

  // Pictures are decoded as they are needed: the call is taken back while the second sixteen are.
  const blob = await (await fetch(`/data/${image}`)).blob();
  const [decode, pictures] = [window.createImageBitmap, new AbortController()];
  let decoded = 0;
  window.createImageBitmap = (...input) => {
    if (++decoded === 17) pictures.abort(new Error("taken back"));
    return decode(...input);
  };
  await encoder.embedBatch(Array(200).fill(blob), { signal: pictures.signal }).catch(() => {});
  window.createImageBitmap = decode;
  encoder.dispose();
  const late = new AbortController();
  const loading = Encoder.load(`/data/${checkpoint}`, { device, signal: late.signal });
  late.abort(new Error("taken back too"));
  const load = await loading.then(() => "", (error) => error.message);

  // A file that is on its way: its stream fails by the signal before it can be cancelled, and nobody else hears of that.
  const [middle, unhandled] = [new AbortController(), []];
  const note = (event) => {
    event.preventDefault();
    unhandled.push(`${event.reason}`);
  };
  addEventListener("unhandledrejection", note);
  const body = new ReadableStream({
    start(file) {
      file.enqueue(new Uint8Array(64));
      middle.signal.addEventListener("abort", () => file.error(middle.signal.reason));
    },
  });
  const onProgress = () => middle.abort(new Error("taken back on its way"));
  const arriving = await messageOf(Encoder.load(new Response(body), { device, signal: middle.signal, onProgress }));
  await new Promise((resolve) => setTimeout(resolve, 50));
  removeEventListener("unhandledrejection", note);
  return { message, load, length, decoded, arriving, unhandled, share: waited / whole };
}

/** How a request is sent, and what is said where no server answers. */
async function ask({ device, checkpoint }) {
  const { Encoder, forgetCheckpoints } = await import("/package/index.js");
  const send = window.fetch;
  const modes = [];
  window.fetch = (source, init) => {
    modes.push(new Request(source, init).cache);
    return send(source, init);
  };
  (await Encoder.load(new Request(`/data/${checkpoint}`, { cache: "reload" }), { device })).dispose();
  // The browser may have an older version than the one that is asked for.
  await forgetCheckpoints();
  (await Encoder.load(`/data/${checkpoint}`, { device, version: "new" })).dispose();
  // Another site's server compresses a file, and lets the page read its compressed length alone.
  const file = await (await send(`/data/${checkpoint}`)).blob();
  const progress = [];
  const onProgress = (arrived) => progress.push(arrived);
  const compressed = new Response(file, { headers: { "Content-Length": "100" } });
  (await Encoder.load(compressed, { device, onProgress })).dispose();
  window.fetch = () => Promise.reject(new TypeError("no network"));
  const absent = Encoder.load("/data/absent.safetensors", { device });
  const unreachable = await absent.then(() => "", (error) => error.message);
  window.fetch = send;
  return { modes, unreachable, progress, size: file.size };
}

/** Which file counts after that of a server has changed which answers no HEAD, as a bucket whose CORS allows GET alone; and offline. */
async function change({ device, checkpoint }) {
  const { Encoder, forgetCheckpoints } = await import("/package/index.js");
  await forgetCheckpoints();
  const send = window.fetch;
  const file = new Uint8Array(await (await send(`/data/${checkpoint}`)).arrayBuffer());
  const read = [];
  let etag = "one";
  window.fetch = async (source, init) => {
    if (!`${source}`.includes("safetensors")) return send(source, init);
    if (etag === undefined || init.method === "HEAD") throw new TypeError("refused");
    const answered = etag;
    const pull = (body) => {
      read.push(answered);
      body.enqueue(file.slice());
      body.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: { etag } });
  };
  for (const version of ["one", "two", "two", undefined]) {
    etag = version;
    (await Encoder.load(`/data/${checkpoint}`, { device })).dispose();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  window.fetch = send;
  await forgetCheckpoints();
  return read;
}

/** The answers of the cache, and the requests to the server. */
async function keep({ device, checkpoint }) {
  const { Encoder, forgetCheckpoints } = await import("/package/index.js");
  const load = async (options) => {
    const encoder = await Encoder.load(`/data/${checkpoint}`, { device, ...options });
    encoder.dispose();
    // A checkpoint is kept once it is known to be good.
    await new Promise((resolve) => setTimeout(resolve, 300));
  };
  await forgetCheckpoints();
  await load({ version: "1" });
  await load({ version: "1" });
  await load({ version: "2" });
  // A header trims its value, and takes no letters beyond Latin-1.
  for (const version of ["v1 ", "版"]) {
    await load({ version });
    await load({ version });
  }
  const cache = await caches.open("simile-checkpoints");
  const [{ headers }] = await cache.matchAll();
  const kept = decodeURIComponent(headers.get("x-simile-version"));
  await load({});
  await load({});
  await load({ cache: false });

  // A copy in the cache that was damaged is fetched again.
  const [key] = await cache.keys();
  const response = await cache.match(key);
  const bytes = new Uint8Array(await response.arrayBuffer());
  bytes[bytes.length - 1] ^= 1;
  await cache.put(key, new Response(bytes, { headers: response.headers }));
  await load({});

  // Where nothing may be stored it is kept in memory.
  await forgetCheckpoints();
  const put = Cache.prototype.put;
  Cache.prototype.put = () => Promise.reject(new DOMException("full", "QuotaExceededError"));
  await load({ version: "1" });
  await load({ version: "1" });
  Cache.prototype.put = put;
  return { kept, entries: (await (await caches.open("simile-checkpoints")).keys()).length };
}

/** Destroys the device under an encoder, a lab and a run, and sees whether each comes back. */
async function lose({ device, checkpoint, image, run: { lostAfter, ...run } }) {
  let gpu;
  const requestDevice = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...input) {
    gpu = await requestDevice.apply(this, input);
    return gpu;
  };
  const { Encoder, LossLab, Trainer } = await import("/package/index.js");

  // A browser that does not describe its adapter: the CPU computes, and who asks for WebGPU is told.
  const description = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, "info");
  delete GPUAdapter.prototype.info;
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("no answer in a minute")), 60_000));
  const alone = await Promise.race([Trainer.create({ ...run, device: "auto", worker: false }), late]);
  const asked = Encoder.load(`/data/${checkpoint}`, { device: "webgpu", worker: false });
  const refusal = await Promise.race([asked, late]).then(() => "", (error) => error.message);
  const undescribed = { kind: alone.device.kind, reason: alone.device.reason, refusal };
  alone.dispose();
  Object.defineProperty(GPUAdapter.prototype, "info", description);

  const far = (a, b) => Math.max(...a.map((value, at) => Math.abs(value - b[at])));

  /** The answers of `ask` of one of them before, while and after its device is lost, and the devices it was on. */
  const through = async (create, ask) => {
    const devices = [];
    const onDevice = ({ kind, reason }) => devices.push(reason ? `${kind}: ${reason}` : kind);
    const instance = await create({ device, worker: false, onDevice });
    const kinds = [instance.device.kind];
    const before = await ask(instance);
    const first = gpu;
    const call = ask(instance);
    gpu.destroy();
    const during = await call;
    const deadline = performance.now() + 120_000;
    while (instance.device.kind !== "webgpu" && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const after = await ask(instance);
    kinds.push(instance.device.kind);
    instance.dispose();
    return { before, during, after, devices, kinds, isAnother: gpu !== first };
  };
  const unchanged = ({ before, during, after, ...rest }) => ({
    ...rest,
    differences: [far(before, during), far(before, after)],
  });

  const blob = await (await fetch(`/data/${image}`)).blob();
  const encoder = await through(
    (options) => Encoder.load(`/data/${checkpoint}`, options),
    async (encoder) => [...(await encoder.embed(blob))],
  );
  const view = (seed) => Array.from({ length: 8 }, (_, i) => [Math.sin(seed + 2 * i), Math.cos(seed + 3 * i)]);
  const lab = await through(
    (options) => LossLab.create({ objective: "nt-xent", temperature: 0.5, ...options }),
    async (lab) => {
      const { loss, gradA } = await lab.evaluate(view(0), view(1));
      return [loss, ...gradA.flat()];
    },
  );

  // The losses of a run are those of one that was left alone.
  const undisturbed = await Trainer.create({ ...run, device: "cpu" });
  const { losses: expected } = await undisturbed.step(run.iterations);
  undisturbed.dispose();
  const shares = [lostAfter, (run.iterations - lostAfter) / 2];
  const { before, during, after, ...trainer } = await through(
    (options) => Trainer.create({ ...run, ...options }),
    async (trainer) => [...(await trainer.step(shares[Math.min(trainer.iteration, 1)])).losses],
  );
  return {
    undescribed,
    encoder: unchanged(encoder),
    lab: unchanged(lab),
    trainer: { ...trainer, losses: [...before, ...during, ...after], expected: [...expected] },
  };
}
