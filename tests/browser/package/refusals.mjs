// Calls of the npm package that cannot be answered. Each function runs in a page, and gives what is said of the rows.

/** A browser that cannot run a bundle, and a server that does not give the files. */
export async function callBrowsers() {
  const { LossLab } = await import("/package/index.js");
  const create = (options) => LossLab.create({ objective: "info-nce", ...options });
  /** Creates a lab after a `change` of the browser, which a function takes back. */
  const changed = (change, options) => async () => {
    const takeBack = change();
    await create(options).finally(takeBack);
  };
  const { WebAssembly: wasm, Worker: Present } = window;
  const { validate } = wasm;
  const withoutWasm = () => {
    delete window.WebAssembly;
    return () => (window.WebAssembly = wasm);
  };
  const withoutSimd = () => {
    wasm.validate = () => false;
    return () => (wasm.validate = validate);
  };
  const withoutBundle = () => unserve("/cpu.wasm");
  const withoutWorker = () => {
    window.Worker = class extends Present {
      constructor(_, options) {
        super("/data/none.safetensors", options);
      }
    };
    return () => (window.Worker = Present);
  };
  return messagesOf([
    [changed(withoutWasm), "no WebAssembly, or it is switched off"],
    [changed(withoutSimd), "has no SIMD"],
    [
      changed(withoutBundle, { worker: false }),
      "cpu.wasm cannot be loaded: ",
      "; if the network was lost, reload the page once it is back; if the page is yours, ",
    ],
    [changed(withoutBundle), "cpu.wasm cannot be loaded: "],
    [
      changed(withoutWorker),
      "its script cannot be loaded; if the network was lost, reload the page ",
      "before version 8 needs optimizeDeps",
    ],
  ]);
}

/** Checkpoints and images; the encoder still works afterwards. */
export async function callEncoders({ checkpoint, images }) {
  const { Encoder } = await import("/package/index.js");
  const encoder = await Encoder.load(`/data/${checkpoint}`);
  const blob = await (await fetch(`/data/${images[0]}`)).blob();
  const before = await encoder.embed(blob);
  const [channels, height, width] = encoder.info.inputSize;
  const size = channels * height * width;
  const numbers = (data, dims = [1, channels, height, width]) => encoder.embedBatch({ data, dims });
  const embed = (image, options) => encoder.embed(image, options);
  document.body.append(new Image());
  const messages = await messagesOf([
    [() => Encoder.load(new Uint8Array(100)), "checkpoint"],
    [() => Encoder.load("/data/none.safetensors"), "404"],
    [() => Encoder.load(undefined), "the checkpoint is undefined, expected an address"],
    [() => Encoder.load(new DataView(new ArrayBuffer(8))), "the checkpoint is a DataView, expected an address"],
    [() => Encoder.load(`/data/${checkpoint}`, { version: 3 }), "`version` is 3, expected a string"],
    [() => embed(blob, { signal: AbortSignal.abort(new Error("taken back")) }), "taken back"],
    [
      () => embed(blob, { signal: new AbortController() }),
      "`signal` is an AbortController, expected an AbortSignal, such as `controller.signal`",
    ],
    [() => embed(blob, { singal: 1 }), "unknown `singal`; known: signal"],
    [() => embed(`/data/${checkpoint}`), `${checkpoint} cannot be decoded as an image`],
    [() => embed(null), "an image is null, expected an image, video or canvas element"],
    [() => embed({ data: new Uint16Array(4), width: 1, height: 1 }), "the data of an image is a Uint16Array, expected a Uint8ClampedArray"],
    [() => embed({ data: new Uint8ClampedArray(4), width: -1, height: -1 }), "the width of an image is -1"],
    [() => encoder.embedBatch([blob, blob, null]), "image 2: an image is null, expected an image, video or canvas element"],
    [() => encoder.embedBatch(blob), "neither a list nor numbers with dims; write [image]"],
    [() => encoder.embedBatch(document.querySelectorAll("img")), "neither a list nor numbers with dims; write [...images]"],
    [() => encoder.embedBatch(new Float32Array(size)), "neither a list nor numbers with dims; write { data, dims }"],
    [() => numbers(new Float32Array(size / 2), [1, channels, height, width / 2]), "3 x 32 x 32 numbers, not 3 x 32 x 16"],
    [() => numbers(new Float32Array(10)), "need 3072 numbers"],
    [() => numbers(new Float32Array(size).fill(Number.NaN)), "not finite"],
    [() => numbers(Array(size).fill(null)), "not finite"],
    [() => numbers(new Float32Array(size).fill(200)), "images have the number 200, expected numbers in 0..1"],
  ]);
  const after = await encoder.embed(blob);
  if (!after.every((value, at) => value === before[at])) throw new Error("a refusal changed the encoder");
  encoder.dispose();
  return messages;
}

/** Pictures that are decoded for a function: its own error ends the call, also one of the kind that large pictures cause. */
export async function callPictures() {
  const { decodeEach } = await import("/package/index.js");
  const canvas = new OffscreenCanvas(1, 1);
  canvas.getContext("2d");
  const picture = await canvas.convertToBlob();
  const { files } = Object.assign(document.createElement("input"), { type: "file" });
  const fail = async () => {
    throw new RangeError("mine");
  };
  return messagesOf([
    [() => decodeEach([picture], fail), "mine"],
    [() => decodeEach(files, fail), "pictures are no list; write [...pictures]"],
  ]);
}

/** Losses and their settings. */
export async function callSettings() {
  const { LossLab } = await import("/package/index.js");
  const create = (options) => LossLab.create({ objective: "info-nce", ...options });
  const lab = await create({});
  const [a, b, z] = [[[1, 0], [0, 1]], [[0.8, 0.6], [0, 1]], [[0], [1]]];
  const withSettings = (settings) => {
    lab.configure(settings);
    return lab.evaluate(a, b, { z });
  };
  // JSON has `null` for it, as if no bandwidth was given.
  const unknown = { name: "rbf", sigma: Number.NaN };
  const messages = await messagesOf([
    [() => create({ device: "gpu" }), 'device is "gpu", expected one of auto, cpu, webgpu'],
    [
      () => create({ temperatur: 0.1 }),
      "a LossLab have an unknown `temperatur`; known: objective, variant, kernel, temperature",
    ],
    [() => withSettings({ objective: "fair-cclk", kernel: unknown }), "`sigma` is NaN, expected a finite number"],
    [
      () => withSettings({ objective: "fair-cclk", kernel: "rbf", params: new Map([["lambda", 0.1]]) }),
      "`params` is a Map, expected an object with values by name",
    ],
    [
      () => withSettings({ objective: "info-nce", temperature: 0.5, params: { temperature: 0.1 } }),
      "`temperature` stands among `params` and has a place of its own",
    ],
  ]);
  lab.dispose();
  return messages;
}

/** Inputs of losses, as rows and as flat numbers. */
export async function callInputs() {
  const { LossLab } = await import("/package/index.js");
  const lab = await LossLab.create({ objective: "fair-cclk", kernel: "rbf" });
  const [a, b, z] = [[[1, 0], [0, 1], [0.6, 0.8]], [[0.8, 0.6], [0, 1], [1, 0]], [[0], [1], [3]]];
  const flat = (dims, data = new Float32Array(6).fill(0.5)) => ({ data, dims });
  const differentiate = (view, others) => lab.differentiate(view, view, { z, others });
  const messages = await messagesOf([
    [() => lab.evaluate([[1, 0], [0, Number.NaN], [0, 1]], b, { z }), "`view_a[1][1]` is NaN"],
    [() => lab.evaluate(flat([3, 2]), b, { z }), "`view_a` is an object, expected a list of rows of numbers; `differentiate`"],
    [() => lab.evaluate(a, b, { zz: z }), "the inputs have an unknown `zz`; known: z, labels, bias"],
    [() => lab.evaluate(a, b, { others: { z } }), "`z` stands among `others` and has a place of its own"],
    [() => lab.evaluate(a, b, { z: new BigInt64Array(3) }), "`z` is a BigInt64Array, expected a list of rows of numbers"],
    [() => lab.evaluate(a, b, new Map([["z", z]])), "the inputs are a Map, expected an object with values by name"],
    [
      () => lab.evaluate(a, b, { z }, new Map([["signal", 3]])),
      "the options of the call are a Map, expected an object with values by name",
    ],
    [() => lab.differentiate(a, b, { z }), "viewA is a list, expected { data, dims: [rows, columns] }"],
    [() => lab.differentiate(flat([2, 3]), flat([3, 2]), { z }), "viewB has 3 x 2 numbers, expected 2 x 3"],
    [() => differentiate(flat([99, 2])), "viewA of 99 x 2 needs 198 numbers, and 6 are given"],
    [() => differentiate(flat([3, 2, 7])), "viewA has dims of 3 numbers, expected [rows, columns]"],
    [() => differentiate(flat([3, 2], "123456")), 'the data of viewA is the string "123456", expected a Float32Array'],
    [() => differentiate(flat([3, 2], [1, 2, null, 4, 5, 6])), "the data of viewA is null at 2, expected numbers"],
    [() => differentiate(flat([3, 2]), { lables: [0, 1, 0] }), "unknown input `lables`"],
  ]);
  lab.dispose();
  return messages;
}

/** Views whose products are not finite in 32 bits: whole or flat, what is said is the same. */
export async function callLarge({ device }) {
  const { LossLab } = await import("/package/index.js");
  const lab = await LossLab.create({ objective: "info-nce", device });
  const large = Array.from({ length: 4 }, (_, at) => [2 ** 80, at]);
  const flat = { data: Float32Array.from(large.flat()), dims: [4, 2] };
  const messages = await messagesOf([
    [() => lab.evaluate(large, large, { normalised: true }), "is not a finite number"],
    [() => lab.differentiate(flat, flat, { normalised: true }), "is not a finite number"],
  ]);
  lab.dispose();
  if (messages[0].message !== messages[1].message) throw new Error(`${messages.map(({ message }) => message)}`);
  return messages;
}

/** Numbers of digits; WebAssembly takes the first one for 4294967295. */
export async function callDigits() {
  const { drawDigits } = await import("/package/index.js");
  return messagesOf([
    [() => drawDigits({ count: -1 }), "count is -1, expected an integer from 1"],
    [() => drawDigits({ count: 1_000_000 }), "count is 1000000, expected an integer from 1 to 100000"],
    [() => drawDigits({ count: "3" }), 'count is the string "3", expected an integer from 1'],
  ]);
}
