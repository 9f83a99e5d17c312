// Calls that are taken back, and calls of an object that is disposed.
// A job: { package, data, device, checkpoint, image }; `data` is the folder of the files it names.
import assert from "node:assert/strict";
import { holdEngine } from "../hold-engine.mjs";
import { listensToRefusals } from "../refusals.mjs";

export default async function (job, page, serve) {
  await listensToRefusals(page);
  await page.goto(await serve({ package: job.package, data: job.data }));
  await beginsNoneWithoutTheEngine(page, job);
  await leavesTheWorker(page, job);
  await decodesNoFurther(page, job);
  await loadsNoFurther(page, job);
  await endsWithItsObject(page, job);
}

/** A call that was taken back while WebAssembly was on its way is not begun: it asks for no adapter. */
async function beginsNoneWithoutTheEngine(page, job) {
  const release = await holdEngine(page);
  const message = await page.evaluate(async ({ checkpoint }) => {
    const { Encoder } = await import("/package/index.js");
    const bytes = new Uint8Array(await (await fetch(`/data/${checkpoint}`)).arrayBuffer());
    window.asked = 0;
    const requestAdapter = async () => (window.asked++, null);
    Object.defineProperty(navigator, "gpu", { value: { requestAdapter }, configurable: true });
    window.load = (options) => Encoder.load(bytes, { device: "auto", worker: false, ...options });
    const controller = new AbortController();
    const call = messageOf(window.load({ signal: controller.signal }));
    await new Promise((resolve) => setTimeout(resolve, 500));
    controller.abort(new Error("taken back"));
    return call;
  }, job);
  await release();
  const asked = await page.evaluate(async () => {
    // The engine of the first call has its WebAssembly before that of the next one has.
    const encoder = await window.load();
    await new Promise((resolve) => setTimeout(resolve, 200));
    encoder.dispose();
    delete navigator.gpu;
    return window.asked;
  });
  assert.equal(message, "taken back");
  assert.equal(asked, 1, "a call that was taken back is computed");
}

/** The next call does not wait for a long one that was taken back. */
async function leavesTheWorker(page, job) {
  const { message, length, share } = await page.evaluate(async ({ device, checkpoint, image }) => {
    const { Encoder } = await import("/package/index.js");
    const encoder = await Encoder.load(`/data/${checkpoint}`, { device });
    const bitmap = await createImageBitmap(await (await fetch(`/data/${image}`)).blob());
    const count = 6000;
    const data = new Float32Array(count * 3 * 32 * 32).fill(0.5);
    const images = { data, dims: [count, 3, 32, 32] };
    const begun = performance.now();
    await encoder.embedBatch(images);
    const whole = performance.now() - begun;
    const controller = new AbortController();
    const call = messageOf(encoder.embedBatch(images, { signal: controller.signal }));
    setTimeout(() => controller.abort(new Error("taken back")), whole / 10);
    const message = await call;
    const after = performance.now();
    const { length } = await encoder.embed(bitmap);
    const waited = performance.now() - after;
    encoder.dispose();
    return { message, length, share: waited / whole };
  }, job);
  assert.equal(message, "taken back");
  assert.equal(length, 84);
  assert.ok(share < 0.5, `a call that was taken back went on for ${share} of its time`);
}

/** Pictures are decoded as they are needed: the call is taken back while the second sixteen are. */
async function decodesNoFurther(page, job) {
  const decoded = await page.evaluate(async ({ device, checkpoint, image }) => {
    const { Encoder } = await import("/package/index.js");
    const encoder = await Encoder.load(`/data/${checkpoint}`, { device });
    const blob = await (await fetch(`/data/${image}`)).blob();
    const [decode, pictures] = [window.createImageBitmap, new AbortController()];
    let decoded = 0;
    window.createImageBitmap = (...input) => {
      if (++decoded === 17) pictures.abort(new Error("taken back"));
      return decode(...input);
    };
    await messageOf(encoder.embedBatch(Array(200).fill(blob), { signal: pictures.signal }));
    window.createImageBitmap = decode;
    encoder.dispose();
    return decoded;
  }, job);
  assert.equal(decoded, 32, "a call that was taken back decodes the pictures that it had begun");
}

/** Before a file comes, and while it is on its way: its stream fails by the signal, and nobody else hears of that. */
async function loadsNoFurther(page, job) {
  const { before, arriving, unhandled } = await page.evaluate(async ({ device, checkpoint }) => {
    const { Encoder } = await import("/package/index.js");
    const late = new AbortController();
    const loading = messageOf(Encoder.load(`/data/${checkpoint}`, { device, signal: late.signal }));
    late.abort(new Error("taken back"));
    const before = await loading;

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
    return { before, arriving, unhandled };
  }, job);
  assert.equal(before, "taken back");
  assert.equal(arriving, "taken back on its way");
  assert.deepEqual(unhandled, [], "a load that was taken back leaves an unhandled error");
}

/** A call that computes in the thread of the page ends with its object, after the step that is being done. */
async function endsWithItsObject(page, job) {
  const { message, before, turns } = await page.evaluate(async ({ device }) => {
    const { Trainer } = await import("/package/index.js");
    const settings = { objective: "nt-xent", iterations: 5000, batch: 8, images: 64, testImages: 16 };
    const trainer = await Trainer.create({ ...settings, device, worker: false });
    // After each step the engine takes a turn, for which it makes a channel.
    const { MessageChannel } = window;
    let turns = 0;
    window.MessageChannel = class extends MessageChannel {
      constructor() {
        super();
        turns++;
      }
    };
    const call = messageOf(trainer.step(5000));
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = turns;
    turns = 0;
    trainer.dispose();
    const message = await call;
    await new Promise((resolve) => setTimeout(resolve, 500));
    window.MessageChannel = MessageChannel;
    return { message, before, turns };
  }, job);
  assert.match(message, /disposed/);
  assert.ok(before > 1, "the run does no steps");
  assert.ok(turns <= 1, `a run that was disposed did ${turns} steps more`);
}
