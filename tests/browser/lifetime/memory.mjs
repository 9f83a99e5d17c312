// Encoders that come and go: what is left of them.
// A job: { package, data, device, checkpoint, image }; `data` is the folder of the files it names.
import assert from "node:assert/strict";
import { workersLeft } from "../workers.mjs";

export default async function (job, page, serve) {
  const bundles = [];
  page.on("request", (request) => {
    if (request.url().endsWith(".wasm")) bundles.push(request.url().split("/").pop());
  });
  await page.goto(await serve({ package: job.package, data: job.data }));
  const { bytes, instances } = await page.evaluate(takeTurns, job);
  assert.equal(instances, 1);
  assert.deepEqual(bundles, ["cpu.wasm"], "the page compiles a bundle once for this thread and every worker");
  // Ten networks that are not freed would take 2.5 MB.
  assert.ok(bytes[0] > 0 && bytes[9] < bytes[0] + 2 ** 20, `memory grows: ${bytes}`);
  assert.equal(await workersLeft(page), 0, "workers are left");
}

/** Ten encoders in turn, in this thread and in workers; gives the bytes of WebAssembly memory after each. Runs in the page. */
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
