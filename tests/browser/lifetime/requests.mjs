// Requests of checkpoints: how they are sent, and what is said where no server answers.
// A job: { package, data, device, checkpoint }; `data` is the folder of the checkpoint.
import assert from "node:assert/strict";

export default async function (job, page, serve) {
  await page.goto(await serve({ package: job.package, data: job.data }));
  const { modes, unreachable, progress, size } = await page.evaluate(ask, job);
  assert.deepEqual(modes, ["reload", "no-cache"], "a request is sent as it says, and a version is asked of the server");
  assert.ok(unreachable.includes("/data/absent.safetensors cannot be fetched: no network"), unreachable);
  assert.equal(progress.at(-1).loaded, size);
  const beyond = progress.filter(({ loaded, total }) => loaded > total);
  assert.deepEqual(beyond, [], "more than the whole of a file has arrived");
}

/** Runs in the page. */
async function ask({ device, checkpoint }) {
  const { Encoder, forgetCheckpoints } = await import("/package/index.js");
  const send = window.fetch;
  const modes = [];
  window.fetch = (source, init) => {
    const { cache, url } = new Request(source, init);
    if (url.includes("safetensors")) modes.push(cache);
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
