// Embeds images and evaluates losses through the npm package in a plain page: all that depends on the device.
// A job: { package, data, webgpu, device, checkpoint, images, cases, example }; `data` is the folder of the files it names,
// `example` a module for a page with a picture, which exports a `vector`.
// Gives the `rows` of the images, the vector of the `example`, that of the first image when the device was lost (`afterwards`),
// the bytes that were `loaded`, and the `evaluations` of the cases.
import assert from "node:assert/strict";
import { photographs, turned } from "../exif.mjs";
import { areRefused } from "../refusals.mjs";
import { openPackage } from "./page.mjs";
import { callLarge } from "./refusals.mjs";

export default async function (job, page, serve) {
  await openPackage(page, job, serve);
  if (job.webgpu) areRefused(await page.evaluate(withoutBundle));
  const { kind, info, loaded, rows } = await page.evaluate(embedAll, job);
  assert.equal(kind, job.webgpu ? "webgpu" : "cpu");
  assert.equal(info.encoder, "lenet5");
  await takesEveryKindOfImage(page, job);
  const example = await page.evaluate(runExample, job);
  await answersAgain(page);
  await takesPhotographsAsStored(page);
  const evaluations = await page.evaluate(evaluateEach, job);
  // A whole loss and its flat form are the same.
  for (const { far } of evaluations) assert.ok(far < 1e-5, `${far}`);
  areRefused(await page.evaluate(callLarge, job));
  if (job.webgpu) await (await page.context().browser().newBrowserCDPSession()).send("Browser.crashGpuProcess");
  const afterwards = await worksOnTheCpu(page);
  return { loaded, rows, example, afterwards, evaluations };
}

/** The bundle of WebGPU is not where the package looks for it. Runs in the page, before one is loaded. */
async function withoutBundle() {
  const { LossLab } = await import("/package/index.js");
  const serve = unserve("/webgpu.wasm");
  const create = () => LossLab.create({ objective: "info-nce", device: "webgpu" });
  const messages = await messagesOf([[create, "webgpu.wasm cannot be loaded: "]]);
  serve();
  return messages;
}

/** Runs in the page, which keeps the encoder and the pictures. */
async function embedAll({ device, checkpoint, images }) {
  const { Encoder } = await import("/package/index.js");
  let loaded = 0;
  const encoder = await Encoder.load(`/data/${checkpoint}`, { device, onProgress: (p) => (loaded = p.loaded) });
  const blobs = await Promise.all(images.map(async (name) => (await fetch(`/data/${name}`)).blob()));
  const { data, dims } = await encoder.embedBatch(blobs);
  const rows = blobs.map((_, at) => [...data.subarray(at * dims[1], (at + 1) * dims[1])]);
  Object.assign(window, { encoder, blobs, first: rows[0] });
  return { kind: encoder.device.kind, info: encoder.info, loaded, rows };
}

/** Every kind of image gives the same vector, and calls made at once are answered in order. */
async function takesEveryKindOfImage(page, job) {
  const { differences, wide } = await page.evaluate(embedEachKind, job);
  for (const [kind, difference] of Object.entries(differences)) {
    assert.ok(difference < 1e-5, `an image given as ${kind} differs by ${difference}`);
  }
  // Pixels of another colour space are converted, which rounds them once more; taken for sRGB they would be other colours.
  assert.ok(wide.converted < wide.taken / 10, JSON.stringify(wide));
}

/** Runs in the page. */
async function embedEachKind({ images }) {
  const { encoder, blobs, first } = window;
  const bitmap = await createImageBitmap(blobs[0]);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const element = new Image();
  element.src = URL.createObjectURL(blobs[0]);
  document.body.append(element);
  const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const kinds = { blob: blobs[0], url: `/data/${images[0]}`, bitmap, canvas, element, pixels };
  const floats = new ImageData(bitmap.width, bitmap.height, { pixelFormat: "rgba-float16" });
  const hasFloats = !(floats.data instanceof Uint8ClampedArray);
  if (hasFloats) floats.data.set(Array.from(pixels.data, (value) => value / 255));
  if (hasFloats) kinds.floats = floats;
  const single = await Promise.all(Object.values(kinds).map((image) => encoder.embed(image)));
  const far = (a, b) => Math.max(...a.map((value, at) => Math.abs(value - b[at])));
  const differences = Object.fromEntries(Object.keys(kinds).map((kind, at) => [kind, far(first, single[at])]));

  const wide = context.getImageData(0, 0, bitmap.width, bitmap.height, { colorSpace: "display-p3" });
  const asBytes = { data: wide.data, width: wide.width, height: wide.height };
  const [converted, taken] = [await encoder.embed(wide), await encoder.embed(asBytes)];
  window.single = single[0];
  return { differences, wide: { converted: far(converted, single[0]), taken: far(taken, single[0]) } };
}

/** A program for a page with a picture. Runs in the page. */
async function runExample({ example }) {
  const { vector } = await import(`/data/${example}`);
  return [...vector];
}

/** A call that was taken back leaves the encoder as it was. */
async function answersAgain(page) {
  const isSame = await page.evaluate(async () => {
    const { encoder, blobs, single } = window;
    await messageOf(encoder.embed(blobs[0], { signal: AbortSignal.abort(new Error("taken back")) }));
    const again = await encoder.embed(blobs[0]);
    return again.every((value, at) => value === single[at]);
  });
  assert.equal(isSame, true);
}

/** A camera's orientation turns the picture that a page shows, and not its vector. */
async function takesPhotographsAsStored(page) {
  const formats = await page.evaluate(turned, await page.evaluate(photographs));
  assert.equal(formats.jpeg.isTurned, true);
  for (const [format, { difference }] of Object.entries(formats)) assert.equal(difference, 0, format);
}

/** Runs in the page. */
async function evaluateEach({ cases, device }) {
  const { LossLab } = await import("/package/index.js");
  const evaluations = [];
  for (const { objective, variant, params, inputs } of cases) {
    const lab = await LossLab.create({ objective, variant, params, device });
    const { view_a, view_b, z, ...others } = inputs;
    const evaluation = await lab.evaluate(view_a, view_b, { z, others });
    const vectors = (rows) => ({ data: Float32Array.from(rows.flat()), dims: [rows.length, rows[0].length] });
    const { loss, gradA, gradB } = await lab.differentiate(vectors(view_a), vectors(view_b), { z, others });
    const differentiated = [loss, ...gradA.data, ...gradB.data];
    const far = [evaluation.loss, ...evaluation.gradA.flat(), ...evaluation.gradB.flat()].map((value, at) =>
      Math.abs(value - differentiated[at]),
    );
    evaluations.push({ ...evaluation, far: Math.max(...far) });
    lab.dispose();
  }
  return evaluations;
}

/** An encoder whose WebGPU device was lost still works, on the CPU, until it is disposed. Gives the vector of the first image. */
async function worksOnTheCpu(page) {
  const { row, kind, disposed } = await page.evaluate(async () => {
    const { encoder, blobs } = window;
    const row = [...(await encoder.embed(blobs[0]))];
    const { kind } = encoder.device;
    encoder.dispose();
    return { row, kind, disposed: await messageOf(encoder.embed(blobs[0])) };
  });
  assert.equal(kind, "cpu");
  assert.match(disposed, /disposed/);
  return row;
}
