// Trains a network through the npm package from a plain page.
// A job: { package, webgpu, device, options, folder }; `options` are those of a run of eight steps on 128 images and 64 others,
// `folder` takes the checkpoint. Gives the `losses` of all steps, and the `reading` of a probe.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export default async function (job, page, serve) {
  await page.goto(await serve({ package: job.package }));
  const { kind, lengths, ended, shapes, losses, reading, file } = await page.evaluate(train, job);
  assert.equal(kind, job.webgpu ? "webgpu" : "cpu");
  // A call does the steps that are left; the last number is that of all.
  assert.deepEqual(lengths, [3, 1, 4, 8]);
  assert.match(ended, /at its end/);
  assert.deepEqual(shapes, { map: 128, labels: 64, colours: 192, vector: 84 });
  await writeFile(join(job.folder, "model.safetensors"), Buffer.from(file));
  return { losses, reading };
}

/** Runs in the page. */
async function train({ device, options }) {
  const { Encoder, Trainer } = await import("/package/index.js");
  const trainer = await Trainer.create({ ...options, device });
  // Calls made at once are queued.
  const calls = await Promise.all([trainer.step(3), trainer.step(), trainer.step(10)]);
  const losses = calls.flatMap((call) => [...call.losses]);
  const ended = await trainer.step().then(() => "", (error) => error.message);
  const { accuracy, leak, map } = await trainer.probe();
  const file = await trainer.checkpoint();
  const encoder = await Encoder.load(file, { device: "cpu" });
  const vector = await encoder.embed(new ImageData(32, 32));
  encoder.dispose();
  const { labels, colours } = trainer.mapped;
  return {
    kind: trainer.device.kind,
    lengths: [...calls.map((call) => call.losses.length), trainer.iteration],
    ended,
    shapes: { map: map.length, labels: labels.length, colours: colours.length, vector: vector.length },
    losses,
    reading: { accuracy, leak },
    file: [...file],
  };
}
