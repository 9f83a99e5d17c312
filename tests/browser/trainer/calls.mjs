// Errors of calls of a trainer that cannot be answered, and the rest of those that are taken back or diverge; on the
// CPU, because none of it depends on the device, and an emulated GPU compiles its shaders for each run again.
// A job: { package, options }; `options` are those of a run.
import assert from "node:assert/strict";
import { areRefused, listensToRefusals } from "../refusals.mjs";

export default async function (job, page, serve) {
  await listensToRefusals(page);
  await page.goto(await serve({ package: job.package }));
  const messages = [...(await page.evaluate(callWithOptions, job)), ...(await page.evaluate(callWithImages, job))];
  areRefused(messages);
  // A page has no recipe.
  for (const { message } of messages) assert.doesNotMatch(message, /method\.name|optimizer\./);
  await namesALabel(page, job);
  await stopsWhenTakenBack(page, job);
  await holdsFewPictures(page, job);
  await takesLabelsThatAreFarApart(page, job);
  await warnsOfItsKernel(page, job);
  await saysWhereItDiverged(page, job);
}

/** Runs in the page. */
async function callWithOptions({ options }) {
  const { Trainer } = await import("/package/index.js");
  const create = (more) => Trainer.create({ ...options, ...more });
  const bare = { variant: undefined, temperature: undefined, lambda: undefined, kernel: undefined };
  return messagesOf([
    [() => create({ objective: "no-such" }), "no-such"],
    [() => create({ batch: 0 }), "batch is 0, expected an integer from 2"],
    [() => create({ batch: 1 }), "batch is 1, expected an integer from 2"],
    [() => create({ iterations: 0 }), "iterations is 0, expected an integer from 1"],
    [() => create({ learningRate: Number.NaN }), "`learningRate` is NaN, expected a finite number"],
    [() => create({ learningRate: 0 }), "`learningRate` is 0, expected"],
    [() => create({ temperatur: 1 }), "a Trainer have an unknown `temperatur`; known: objective"],
    [
      () => create({ objective: "byol", ...bare }),
      "`objective` is byol, which a Trainer cannot train; `simile train` trains it",
    ],
    [
      () => create({ signal: new AbortController() }),
      "`signal` is an AbortController, expected an AbortSignal",
    ],
  ]);
}

/** Runs in the page. */
async function callWithImages({ options }) {
  const { Trainer } = await import("/package/index.js");
  const create = (more) => Trainer.create({ ...options, ...more });
  const labelled = (label) => ({ image: new ImageData(32, 32), label });
  const six = (labels) => ({ images: labels.map(labelled), testImages: 2, batch: 2 });
  return messagesOf([
    [() => create({ images: 1e9 }), "images is 1000000000, expected an integer from 2 to 100000"],
    [() => create({ images: "64" }), 'images is the string "64", expected a number of digits or a list'],
    [() => create({ images: [labelled(0)] }), "images is a list of 1, expected 4 or more"],
    [() => create({ ...six([0, 1, 0, 1, 0, 1]), testImages: 100 }), "with 6 images testImages is 100, expected an integer from 2 to 4"],
    [() => create(six([5, 5, 5, 5, 5, 5])), "`images` is of one class, expected at least 2 classes"],
  ]);
}

async function namesALabel(page, job) {
  const messages = await page.evaluate(async ({ options }) => {
    const { Trainer } = await import("/package/index.js");
    const labelled = (label) => ({ image: new ImageData(32, 32), label });
    const lists = [-1, 1.5, 65536, Number.NaN].map((label) => [labelled(0), labelled(label)]);
    return Promise.all(lists.map((images) => messageOf(Trainer.create({ ...options, images }))));
  }, job);
  const expected = ["-1", "1.5", "65536", "NaN"].map(
    (label) => `the label of image 1 is ${label}, expected an integer from 0 to 65535`,
  );
  assert.deepEqual(messages, expected);
}

/** A long call stops after the step that is being done, and the steps before count. */
async function stopsWhenTakenBack(page, job) {
  const { messages, counted, next } = await page.evaluate(async ({ options }) => {
    const { Trainer } = await import("/package/index.js");
    const long = await Trainer.create({ ...options, iterations: 400 });
    const takeBack = () => new Error("taken back");
    const early = () => long.step(1, { signal: AbortSignal.abort(takeBack()) });
    const late = () => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(takeBack()), 300);
      return long.step(399, { signal: controller.signal });
    };
    const messages = await messagesOf([
      [() => long.step(1.5), "count is 1.5, expected an integer"],
      [early, "taken back"],
      [late, "taken back"],
    ]);
    const counted = long.iteration;
    const { step: next } = await long.step();
    long.dispose();
    return { messages: [...messages, ...(await messagesOf([[() => long.step(), "disposed"]]))], counted, next };
  }, job);
  areRefused(messages);
  assert.equal(counted, next - 1);
  assert.ok(next < 60, `a call of 399 steps went on to ${next} after it was taken back`);
}

/** Of pictures as files few are held at a time: those that were sent to the worker have no width any more. */
async function holdsFewPictures(page, job) {
  const held = await page.evaluate(async ({ options }) => {
    const { Trainer } = await import("/package/index.js");
    const file = await new OffscreenCanvas(1, 1).getContext("2d").canvas.convertToBlob();
    const images = Array.from({ length: 200 }, (_, at) => ({ image: file, label: at % 2 }));
    const [decode, bitmaps] = [window.createImageBitmap, []];
    let held = 0;
    window.createImageBitmap = async (...input) => {
      const bitmap = await decode(...input);
      bitmaps.push(bitmap);
      held = Math.max(held, bitmaps.filter(({ width }) => width > 0).length);
      return bitmap;
    };
    (await Trainer.create({ ...options, images, testImages: 2, batch: 2 })).dispose();
    window.createImageBitmap = decode;
    return held;
  }, job);
  assert.ok(held >= 1 && held <= 16, `${held} pictures are held at once`);
}

/** They are as many classes as there are labels, also for the probe, which has a row for each. */
async function takesLabelsThatAreFarApart(page, job) {
  const accuracy = await page.evaluate(async ({ options }) => {
    const { Trainer } = await import("/package/index.js");
    const images = [0, 65535, 0, 65535, 0, 65535].map((label) => ({ image: new ImageData(32, 32), label }));
    const trainer = await Trainer.create({ ...options, images, testImages: 2, batch: 2 });
    const { accuracy } = await trainer.probe();
    trainer.dispose();
    return accuracy;
  }, job);
  assert.ok(Number.isFinite(accuracy), `${accuracy}`);
}

/** A kernel that tells all images apart. */
async function warnsOfItsKernel(page, job) {
  const warnings = await page.evaluate(async ({ options }) => {
    const { Trainer } = await import("/package/index.js");
    const trainer = await Trainer.create({ ...options, kernel: "exact-match" });
    const { warnings } = trainer;
    trainer.dispose();
    return warnings;
  }, job);
  assert.ok(warnings.some((text) => text.includes("apart by `colour`")), `${warnings}`);
}

/** However often a run that diverged is asked to go on; the steps before that count, in a single call too. */
async function saysWhereItDiverged(page, job) {
  const { messages, together, counted } = await page.evaluate(async ({ options }) => {
    const { Trainer } = await import("/package/index.js");
    const wild = { ...options, learningRate: 1e38 };
    const [one, other] = [await Trainer.create(wild), await Trainer.create(wild)];
    const messages = [];
    for (let call = 0; call <= options.iterations; call++) messages.push(await messageOf(one.step()));
    const together = await messageOf(other.step(options.iterations));
    const counted = [one.iteration, other.iteration];
    for (const trainer of [one, other]) trainer.dispose();
    return { messages, together, counted };
  }, job);
  const passed = messages.findIndex((message) => message !== "");
  const errors = messages.slice(passed);
  assert.ok(passed > 0 && errors.length > 2, `${messages}`);
  assert.match(together, /is not a finite number between steps/);
  assert.deepEqual(errors, errors.map(() => together));
  assert.deepEqual(counted, [passed, passed]);
}
