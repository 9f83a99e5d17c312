// Uses the npm package from a plain page.
// A job: { package, data, webgpu, device, checkpoint, images, cases, example }; `data` is the folder of the files it names,
// `example` a module for a page with a picture, which exports a `vector`.
import { photographs, turned } from "./exif.mjs";

export const absent = "/none.safetensors";

export default async function (job, page, serve) {
  await page.goto(await serve({ package: job.package, data: job.data }));
  const result = await page.evaluate(use, job);
  result.turned = await page.evaluate(turned, await page.evaluate(photographs));
  if (!job.webgpu) result.elements = await ofElements(job, page, serve);
  if (job.webgpu) await (await page.context().browser().newBrowserCDPSession()).send("Browser.crashGpuProcess");
  result.afterwards = await page.evaluate(finish, job);
  return result;
}

/** Elements whose file the browser does not load, does not give, or waits for; and pictures beyond the size of a canvas. */
async function ofElements(job, page, serve) {
  // The policy of the other page takes no images of other sites.
  const [address, foreign] = [await serve({ package: job.package, data: job.data }, {}), await serve({ data: job.data }, {})];
  const other = await page.context().newPage();
  await other.route("**/stalled.png", () => {});
  await other.goto(address);
  const result = await other.evaluate(showElements, { ...job, foreign });
  await other.close();
  return result;
}

/** Runs in a page of its own. */
async function showElements({ checkpoint, images, foreign }) {
  const { Encoder } = await import("/package/index.js");
  const messageOf = (promise) => promise.then(() => "", (error) => error.message);
  const late = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 20_000, "no answer"))]);
  const encoder = await Encoder.load(`/data/${checkpoint}`, { device: "cpu" });
  const elementOf = (src, loading = "eager") => {
    const element = Object.assign(new Image(), { loading, src });
    document.body.append(element);
    return element;
  };
  const space = document.createElement("div");
  space.style.height = "50000px";
  document.body.append(space);

  const lazy = elementOf(`/data/${images[0]}`, "lazy");
  await new Promise((resolve) => setTimeout(resolve, 200));
  const wasThere = lazy.complete;
  const length = (await late(encoder.embed(lazy))).length;
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("taken back")), 200);
  const stalled = await late(messageOf(encoder.embed(elementOf("/data/stalled.png"), { signal: controller.signal })));
  const unallowed = await messageOf(encoder.embedBatch([lazy, elementOf(`${foreign}/data/${images[0]}`)]));
  const broken = await messageOf(encoder.embed(elementOf("/data/none.png")));

  // Wider than any canvas.
  const wide = new ImageData(70_000, 50);
  wide.data.forEach((_, at) => (wide.data[at] = at % 4 === 3 ? 255 : (at * 7 + (at >> 12) * 5) % 256));
  const [ofBitmap, ofBytes] = [await encoder.embed(await createImageBitmap(wide)), await encoder.embed(wide)];
  const size = { resizeWidth: 8200, resizeHeight: 8200 };
  const large = await messageOf(encoder.embed(await createImageBitmap(new ImageData(1, 1), size)));
  // Of photographs few are decoded at a time: those that were sent to the worker have no width any more.
  const photograph = new OffscreenCanvas(5000, 4000);
  photograph.getContext("2d").fillRect(0, 0, 5000, 4000);
  const file = await photograph.convertToBlob();
  const small = await new OffscreenCanvas(28, 28).getContext("2d").canvas.convertToBlob();
  const [decode, bitmaps, decoded, lengths] = [window.createImageBitmap, [], [], []];
  let most = 0;
  window.createImageBitmap = async (...input) => {
    const bitmap = await decode(...input);
    bitmaps.push(bitmap);
    most = Math.max(most, bitmaps.reduce((sum, { width, height }) => sum + width * height, 0) / 1e6);
    return bitmap;
  };
  // A small one says nothing of the size of the next.
  for (const first of [file, small]) {
    most = 0;
    const { dims } = await encoder.embedBatch([first, ...Array.from({ length: 7 }, () => file)]);
    lengths.push(dims[0]);
    decoded.push(most);
  }
  window.createImageBitmap = decode;
  encoder.dispose();
  const isSame = ofBitmap.every((value, at) => value === ofBytes[at]);
  const messages = { stalled, unallowed, broken, large };
  return { wasThere, length, isSame, decoded, photographs: lengths, messages };
}

/** Runs in the page. */
async function use({ device, checkpoint, images, cases, example }) {
  const { drawDigits, Encoder, LossLab } = await import("/package/index.js");
  const messageOf = (promise) => promise.then(() => "", (error) => error.message);

  // A server that gives a page in the place of a WebAssembly file; this thread fetches for its workers.
  const fetchAsServed = window.fetch;
  const without = (file) => {
    const page = () => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } });
    window.fetch = async (...input) => (`${input[0]}`.endsWith(file) ? page() : fetchAsServed(...input));
  };
  // A browser that cannot run the bundles, before one of them is compiled.
  const [wasm, { validate }] = [WebAssembly, WebAssembly];
  delete window.WebAssembly;
  const withoutWasm = await messageOf(LossLab.create({ objective: "info-nce" }));
  window.WebAssembly = wasm;
  WebAssembly.validate = () => false;
  const withoutSimd = await messageOf(LossLab.create({ objective: "info-nce" }));
  WebAssembly.validate = validate;

  without("/cpu.wasm");
  const unserved = await messageOf(LossLab.create({ objective: "info-nce", worker: false }));
  const unservedToWorker = await messageOf(LossLab.create({ objective: "info-nce" }));
  without("/webgpu.wasm");
  const unservedGpu = device === "webgpu" ? await messageOf(LossLab.create({ objective: "info-nce", device })) : "";
  window.fetch = fetchAsServed;

  // A worker whose script is not where the package looks for it.
  const Present = window.Worker;
  window.Worker = class extends Present {
    constructor(_, options) {
      super("/data/none.safetensors", options);
    }
  };
  const unservedWorker = await messageOf(LossLab.create({ objective: "info-nce" }));
  window.Worker = Present;

  let loaded = 0;
  const encoder = await Encoder.load(`/data/${checkpoint}`, { device, onProgress: (p) => (loaded = p.loaded) });
  const blobs = await Promise.all(images.map(async (name) => (await fetch(`/data/${name}`)).blob()));
  const vectors = await encoder.embedBatch(blobs);

  // Every kind of image gives the same vector, and calls made at once are answered in order.
  const bitmap = await createImageBitmap(blobs[0]);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const element = new Image();
  element.src = URL.createObjectURL(blobs[0]);
  const pixels = context.getImageData(0, 0, bitmap.width, bitmap.height);
  const kinds = { blob: blobs[0], url: `/data/${images[0]}`, bitmap, canvas, element, pixels };
  const floats = new ImageData(bitmap.width, bitmap.height, { pixelFormat: "rgba-float16" });
  const hasFloats = !(floats.data instanceof Uint8ClampedArray);
  if (hasFloats) floats.data.set(Array.from(pixels.data, (value) => value / 255));
  if (hasFloats) kinds.floats = floats;
  const single = await Promise.all(Object.values(kinds).map((image) => encoder.embed(image)));
  const expected = vectors.data.subarray(0, vectors.dims[1]);
  const differences = Object.fromEntries(
    Object.keys(kinds).map((kind, at) => [kind, Math.max(...expected.map((v, i) => Math.abs(v - single[at][i])))]),
  );

  // Pixels of another colour space are converted, which rounds them once more; taken for sRGB they would be other colours.
  const wide = context.getImageData(0, 0, bitmap.width, bitmap.height, { colorSpace: "display-p3" });
  const far = (a, b) => Math.max(...a.map((value, at) => Math.abs(value - b[at])));
  const asBytes = { data: wide.data, width: wide.width, height: wide.height };
  const ofWide = [far(await encoder.embed(wide), single[0]), far(await encoder.embed(asBytes), single[0])];

  // A program for a page with a picture.
  document.body.append(element);
  const { vector } = await import(`/data/${example}`);

  // Calls that are cancelled and files that are broken give an error, and the encoder still works.
  const aborted = await messageOf(encoder.embed(blobs[0], { signal: AbortSignal.abort(new Error("taken back")) }));
  const corrupt = await messageOf(Encoder.load(new Uint8Array(100), { device }));
  const missing = await messageOf(Encoder.load("/data/none.safetensors", { device }));
  const [channels, height, width] = encoder.info.inputSize;
  const ofFloats = (length, dims) => messageOf(encoder.embedBatch({ data: new Float32Array(length), dims }));
  const halved = await ofFloats((channels * height * width) / 2, [1, channels, height, width / 2]);
  const cut = await ofFloats(10, [1, channels, height, width]);
  const undecoded = await messageOf(encoder.embed(`/data/${example}`));
  const again = await encoder.embed(blobs[0]);
  window.encoder = encoder;

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

  // Products of such rows are not finite in 32 bits.
  const large = Array.from({ length: 4 }, (_, at) => [2 ** 80, at]);
  const flat = { data: Float32Array.from(large.flat()), dims: [4, 2] };
  const lab = await LossLab.create({ objective: "info-nce" });
  const infinite = await messageOf(lab.evaluate(large, large, { normalised: true }));
  const differentiated = await messageOf(lab.differentiate(flat, flat, { normalised: true }));
  // A setting may be given as it is: it has further parameters than the kernel and the ridge. A refusal fails this test.
  await lab.weigh([[0], [1], [2]], { objective: "fair-cclk", kernel: { name: "rbf", sigma: 1 }, temperature: 0.5 });
  // Its ridge may stand among its further parameters.
  const byRbf = { name: "rbf", sigma: 1 };
  const ridges = [];
  for (const own of [{ lambda: 5 }, { params: { lambda: 5 } }, {}]) {
    ridges.push((await lab.weigh([[0], [1], [2]], { objective: "fair-cclk", kernel: byRbf, ...own })).condition);
  }
  // JSON has `null` for the first, as if no bandwidth was given; WebAssembly takes the second for 4294967295.
  lab.configure({ objective: "fair-cclk", kernel: { name: "rbf", sigma: Number.NaN } });
  const bandwidth = await messageOf(lab.evaluate(large, large, { z: large }));
  const digits = await messageOf(drawDigits({ count: -1 }));
  const most = await messageOf(drawDigits({ count: 1_000_000 }));
  const { backgrounds, grounds } = await drawDigits({ count: 2 });
  const isAlias = backgrounds.length === 6 && backgrounds.every((channel, at) => channel === grounds[at]);
  // A kernel by its name has its default settings.
  const [a, b, z] = [[[1, 0], [0, 1], [0.6, 0.8]], [[0.8, 0.6], [0, 1], [1, 0]], [[0], [1], [3]]];
  const named = [];
  for (const kernel of ["rbf", { name: "rbf" }]) {
    lab.configure({ objective: "fair-cclk", kernel });
    named.push((await lab.evaluate(a, b, { z })).loss, (await lab.weigh(z, { kernel })).condition);
  }
  const place = await messageOf(lab.evaluate([[1, 0], [0, Number.NaN], [0, 1]], b, { z }));
  const matrix = (dims, length = 6) => ({ data: new Float32Array(length).fill(0.5), dims });
  const differing = await messageOf(lab.differentiate(matrix([2, 3]), matrix([3, 2]), { z }));
  const short = await messageOf(lab.differentiate(matrix([99, 2]), matrix([99, 2]), { z }));
  const unread = await messageOf(lab.differentiate(matrix([3, 2]), matrix([3, 2]), { z, others: { lables: [0, 1, 0] } }));
  const chosen = await messageOf(LossLab.create({ objective: "info-nce", device: "gpu" }));
  // Typed arrays are rows and labels too. An error names an input of another form, and a name that a call does not know.
  const [typedA, typedZ] = [a, z].map((rows) => rows.map((row) => Float64Array.from(row)));
  const typed = [(await lab.evaluate(a, b, { z })).loss, (await lab.evaluate(typedA, b, { z: typedZ })).loss];
  const flatRows = await messageOf(lab.evaluate(matrix([3, 2]), b, { z }));
  const rowsForFlat = await messageOf(lab.differentiate(a, b, { z }));
  const [asText, asNull, deep] = await Promise.all(
    [{ data: "123456" }, { data: [1, 2, null, 4, 5, 6] }, { dims: [3, 2, 7] }].map((wrong) => {
      const view = { ...matrix([3, 2]), ...wrong };
      return messageOf(lab.differentiate(view, view, { z }));
    }),
  );
  lab.configure({ objective: "fair-cclk", kernel: "rbf", params: new Map([["lambda", 0.1]]) });
  const map = await messageOf(lab.evaluate(a, b, { z }));
  lab.configure({ objective: "fair-cclk", kernel: "rbf" });
  const mapOfOptions = await messageOf(lab.evaluate(a, b, { z }, new Map([["signal", 3]])));
  const mapOfInputs = await messageOf(lab.evaluate(a, b, new Map([["z", z]])));
  const bigints = await messageOf(lab.evaluate(a, b, { z: new BigInt64Array(3) }));
  const controller = await messageOf(encoder.embed(blobs[0], { signal: new AbortController() }));
  // The warnings of the command line.
  const distant = [[10], [120], [250]];
  const warnings = [];
  for (const kernel of [{ name: "rbf", sigma: 1 }, { name: "rbf", sigma: 100 }, undefined]) {
    lab.configure({ objective: "fair-cclk", kernel });
    warnings.push((await lab.evaluate(a, b, { z: distant })).warnings);
  }
  const input = await messageOf(lab.evaluate(a, b, { zz: z }));
  const option = await messageOf(LossLab.create({ objective: "info-nce", temperatur: 0.1 }));
  const misplaced = await messageOf(lab.evaluate(a, b, { others: { z } }));
  lab.configure({ objective: "info-nce", temperature: 0.5, params: { temperature: 0.1 } });
  const twice = await messageOf(lab.evaluate(a, b));
  const third = await messageOf(encoder.embedBatch([blobs[0], blobs[0], null]));
  const signal = await messageOf(encoder.embed(blobs[0], { singal: 1 }));
  const text = await messageOf(drawDigits({ count: "3" }));
  const nothing = await messageOf(encoder.embed(null));
  const halves = await messageOf(encoder.embed({ data: new Uint16Array(4), width: 1, height: 1 }));
  const source = await messageOf(Encoder.load(undefined));
  const view = await messageOf(Encoder.load(new DataView(new ArrayBuffer(8))));
  lab.dispose();
  const alone = await messageOf(encoder.embedBatch(blobs[0]));
  const unspread = await messageOf(encoder.embedBatch(document.querySelectorAll("img")));
  const dimless = await messageOf(encoder.embedBatch(new Float32Array(channels * height * width)));
  const numbered = await messageOf(Encoder.load(`/data/${checkpoint}`, { device, version: 3 }));
  const gaps = { data: new Float32Array(channels * height * width).fill(Number.NaN), dims: [1, channels, height, width] };
  const unfilled = await messageOf(encoder.embedBatch(gaps));
  const holes = await messageOf(encoder.embedBatch({ ...gaps, data: Array.from(gaps.data, () => null) }));
  const bytes = await messageOf(encoder.embedBatch({ ...gaps, data: gaps.data.map(() => 200) }));
  const negative = await messageOf(encoder.embed({ data: new Uint8ClampedArray(4), width: -1, height: -1 }));
  return {
    device: encoder.device,
    info: encoder.info,
    loaded,
    rows: Array.from({ length: vectors.dims[0] }, (_, at) => [
      ...vectors.data.subarray(at * vectors.dims[1], (at + 1) * vectors.dims[1]),
    ]),
    differences,
    example: [...vector],
    repeated: again.every((value, at) => value === single[0][at]),
    typed,
    ofWide,
    ridges,
    warnings,
    isAlias,
    messages: {
      withoutWasm,
      withoutSimd,
      unservedWorker,
      flatRows,
      rowsForFlat,
      asText,
      asNull,
      deep,
      map,
      mapOfOptions,
      mapOfInputs,
      bigints,
      controller,
      input,
      misplaced,
      twice,
      third,
      option,
      signal,
      text,
      nothing,
      halves,
      source,
      view,
      aborted,
      corrupt,
      missing,
      halved,
      cut,
      infinite,
      differentiated,
      unserved,
      unservedToWorker,
      unservedGpu,
      undecoded,
      bandwidth,
      digits,
      most,
      place,
      differing,
      short,
      unread,
      chosen,
      alone,
      unspread,
      dimless,
      numbered,
      unfilled,
      holes,
      bytes,
      negative,
    },
    named,
    evaluations,
  };
}

/** Runs in the page, on WebGPU after its device was lost. */
async function finish({ images }) {
  const { encoder } = window;
  const blob = await (await fetch(`/data/${images[0]}`)).blob();
  const row = [...(await encoder.embed(blob))];
  const { device } = encoder;
  encoder.dispose();
  const disposed = await encoder.embed(blob).then(() => "", (error) => error.message);
  return { row, device, disposed };
}
