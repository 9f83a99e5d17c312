// Trains through the npm package from a plain page.
// A job: { package, webgpu, device, options, folder }; `folder` takes the checkpoint.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export default async function (job, page, serve) {
  await page.goto(await serve({ package: job.package }));
  const { file, ...result } = await page.evaluate(use, job);
  await writeFile(join(job.folder, "model.safetensors"), Buffer.from(file));
  return result;
}

/** Runs in the page. */
async function use({ device, options }) {
  const { Encoder, Trainer } = await import("/package/index.js");
  const refuse = async () => {
    // A long call that is taken back stops after the step that is being done.
    const long = await Trainer.create({ ...options, iterations: 400 });
    const early = await messageOf(long.step(1, { signal: AbortSignal.abort(new Error("taken back")) }));
    const controller = new AbortController();
    const call = messageOf(long.step(399, { signal: controller.signal }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    controller.abort(new Error("taken back"));
    const aborted = await call;
    const counted = long.iteration;
    const { step: stepsAfterAbort } = await long.step();
    long.dispose();
    const disposed = await messageOf(long.step());
    const part = await messageOf(long.step(1.5));

    const unknown = await messageOf(Trainer.create({ ...options, objective: "no-such" }));
    const batch = await messageOf(Trainer.create({ ...options, batch: 0 }));
    const labelled = (label) => ({ image: new ImageData(32, 32), label });
    const refused = [-1, 1.5, 65536, Number.NaN].map((label) => ({ images: [labelled(0), labelled(label)] }));
    const labels = await Promise.all(refused.map((images) => messageOf(Trainer.create({ ...options, ...images }))));
    // Labels that do not follow each other are as many classes as there are, also for the probe, which has a row for each.
    const far = { images: [0, 65535, 0, 65535, 0, 65535].map(labelled), testImages: 2, batch: 2 };
    const apart = await Trainer.create({ ...options, ...far });
    const { accuracy } = await apart.probe();
    apart.dispose();
    // Of pictures as files few are held at a time: those that were sent to the worker have no width any more.
    const file = await new OffscreenCanvas(1, 1).getContext("2d").canvas.convertToBlob();
    const files = Array.from({ length: 200 }, (_, at) => ({ image: file, label: at % 2 }));
    const [decode, bitmaps] = [window.createImageBitmap, []];
    let decoded = 0;
    window.createImageBitmap = async (...input) => {
      const bitmap = await decode(...input);
      bitmaps.push(bitmap);
      decoded = Math.max(decoded, bitmaps.filter(({ width }) => width > 0).length);
      return bitmap;
    };
    (await Trainer.create({ ...options, ...far, images: files })).dispose();
    window.createImageBitmap = decode;
    const one = await messageOf(Trainer.create({ ...options, ...far, images: [5, 5, 5, 5, 5, 5].map(labelled) }));
    const rate = await messageOf(Trainer.create({ ...options, learningRate: Number.NaN }));
    const refusal = (more) => messageOf(Trainer.create({ ...options, ...more }));
    const many = await refusal({ images: 1e9 });
    const alone = await refusal({ batch: 1 });
    const none = await refusal({ iterations: 0 });
    const text = await refusal({ images: "64" });
    const few = await refusal({ images: [labelled(0)] });
    const held = await refusal({ ...far, testImages: 100 });
    const option = await refusal({ temperatur: 1 });
    const bare = { variant: undefined, temperature: undefined, lambda: undefined, kernel: undefined };
    const method = await refusal({ objective: "byol", ...bare });
    const still = await refusal({ learningRate: 0 });
    const unsignalled = await refusal({ signal: new AbortController() });
    const settings = { many, alone, none, text, few, held, option, method, still, unsignalled };
    const warned = await Trainer.create({ ...options, kernel: "exact-match" });
    const { warnings } = warned;
    warned.dispose();
    // A run that diverged says where, however often it is asked to go on.
    const wild = await Trainer.create({ ...options, learningRate: 1e38 });
    const diverged = [];
    for (let call = 0; call <= options.iterations; call++) diverged.push(await messageOf(wild.step()));
    wild.dispose();
    // Those before the failure count, in a single call too.
    const together = await Trainer.create({ ...options, learningRate: 1e38 });
    const failed = await messageOf(together.step(options.iterations));
    const divergedAt = [wild.iteration, together.iteration];
    together.dispose();
    const messages = { unknown, batch, early, aborted, disposed, part, rate, one, ...settings };
    return { messages, accuracy, labels, counted, stepsAfterAbort, decoded, warnings, diverged, failed, divergedAt };
  };
  const messageOf = (promise) => promise.then(() => "", (error) => error.message);

  const trainer = await Trainer.create({ ...options, device });
  // Calls made at once are queued; the last one does the steps that are left.
  const calls = await Promise.all([trainer.step(3), trainer.step(), trainer.step(10)]);
  const losses = calls.flatMap((call) => [...call.losses]);
  const lengths = [...calls.map((call) => call.losses.length), trainer.iteration];
  const ended = await messageOf(trainer.step());
  const reading = await trainer.probe();
  const file = await trainer.checkpoint();
  const encoder = await Encoder.load(file, { device: "cpu" });
  const vector = await encoder.embed(new ImageData(32, 32));
  encoder.dispose();

  // An emulated GPU compiles its shaders for each run again.
  const refusals = device === "webgpu" ? {} : await refuse();
  return {
    device: trainer.device,
    losses,
    lengths,
    reading: { accuracy: reading.accuracy, leak: reading.leak },
    shapes: {
      map: reading.map.length,
      labels: trainer.mapped.labels.length,
      colours: trainer.mapped.colours.length,
      vector: vector.length,
    },
    ended,
    ...refusals,
    file: [...file],
  };
}

