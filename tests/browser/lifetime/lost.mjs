// A device that is lost under an encoder, a lab and a run, each of which comes back.
// A job: { package, data, device, checkpoint, image }; `data` is the folder of the files it names.
import assert from "node:assert/strict";

/**
 * The run loses its device when the copy of its state is three steps old: on an emulated GPU it is made after the first step, and
 * again after about ten.
 */
const LOST_AFTER = 4;
const RUN = {
  objective: "fair-cclk",
  kernel: { name: "rbf", sigma: 20 },
  temperature: 0.5,
  iterations: 8,
  batch: 8,
  images: 64,
  testImages: 16,
  seed: 3,
  // With a larger rate the rounding of a device would grow to a visible difference.
  learningRate: 5e-4,
};

export default async function (job, page, serve) {
  const bundles = [];
  page.on("request", (request) => {
    if (request.url().endsWith(".wasm")) bundles.push(request.url().split("/").pop());
  });
  await page.goto(await serve({ package: job.package, data: job.data }));
  const { undescribed, ...lost } = await page.evaluate(lose, { ...job, lostAfter: LOST_AFTER, run: RUN });
  assert.deepEqual(bundles, ["cpu.wasm", "webgpu.wasm"]);
  assert.equal(undescribed.kind, "cpu");
  for (const text of [undescribed.reason, undescribed.refusal]) assert.match(text, /does not describe/);
  for (const [name, { kinds, isAnother, devices }] of Object.entries(lost)) {
    assert.deepEqual(kinds, ["webgpu", "webgpu"], `${name}: ${devices}`);
    assert.equal(isAnother, true, name);
    assert.equal(devices.length, 2, `${name}: ${devices}`);
    assert.match(devices[0], /^cpu: WebGPU stopped/, name);
  }
  for (const name of ["encoder", "lab"]) {
    const { differences } = lost[name];
    assert.ok(differences.every((difference) => difference < 1e-3), `${name}: ${differences}`);
  }
  const { losses, expected } = lost.trainer;
  assert.deepEqual([losses.length, expected.length], [RUN.iterations, RUN.iterations]);
  losses.forEach((loss, step) => {
    const difference = Math.abs(loss - expected[step]);
    assert.ok(difference < 1e-2 * Math.abs(expected[step]), `step ${step}: ${loss}, ${expected[step]} undisturbed`);
  });
}

/** Destroys the device under an encoder, a lab and a run. Runs in the page. */
async function lose({ device, checkpoint, image, lostAfter, run }) {
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
