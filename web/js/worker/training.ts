// The training run in the worker.
import type { DeviceInfo, Methods, WarningKind } from "../shared/protocol.js";
import * as cpu from "../generated/cpu.js";
import * as webgpu from "../generated/webgpu.js";
import { checkAgreement, type Gpu } from "./gpu.js";
import { type Movable, Placement } from "./placement.js";
import { nextTurn } from "./turn.js";

/** Steps on WebGPU between two copies of the run's state: at most as many are repeated when the device is lost. */
const COPY_EVERY = 50;
/** Copies are made more often as long as they take at most this share of the time: where steps are slow, fewer are repeated. */
const COPYING = 0.02;

type Run = cpu.Trainer | webgpu.Trainer;

export class Training implements Movable<Run> {
  readonly onCpu: cpu.Trainer;
  readonly #placement: Placement<Run>;
  /** Finished steps, on any device. */
  #step = 0;
  /** The last copy of the state, from which the run resumes when a device is lost. */
  #copy = new Uint8Array();
  /** When the next copy is due in any case, in the milliseconds of `performance.now`. */
  #copyDue = 0;
  /** The loss of the first step on the CPU; a run in progress cannot compute it again. */
  #firstLoss: number | undefined;
  /** Why a step failed: the run cannot go on from there, and the next step would tell of another place. */
  #failure: { readonly error: unknown } | undefined;

  private constructor(
    private readonly input: Methods["openTrainer"]["input"],
    onDevice: (device: DeviceInfo) => void,
  ) {
    this.onCpu = begin(cpu.Trainer, input, cpu.Device.cpu());
    this.#placement = new Placement(this, onDevice);
  }

  /** A new run, with its device. */
  static async open(
    input: Methods["openTrainer"]["input"],
    onDevice: (device: DeviceInfo) => void,
  ): Promise<{ training: Training; device: DeviceInfo }> {
    const training = new Training(input, onDevice);
    try {
      return { training, device: await training.#placement.choose(input.device, "at-once") };
    } catch (error) {
      training.free();
      throw error;
    }
  }

  /** The description of a new run for the page. */
  describe(): Omit<Methods["openTrainer"]["output"], "device"> {
    const { iterations, recipe, warnings, mapped_labels: labels, mapped_colours: colours } = this.onCpu;
    return { iterations, recipe, warnings, warningKinds: this.onCpu.warning_kinds as WarningKind[], labels, colours };
  }

  /** Runs `steps` steps, or fewer where fewer are left or the call is cancelled; throws at the end of the run. */
  async train(steps: number, isCancelled: () => boolean): Promise<Methods["train"]["output"]> {
    // A call without steps asks how many were done.
    if (steps > 0 && this.#failure) throw this.#failure.error;
    const losses: number[] = [];
    while (losses.length < steps && !isCancelled()) {
      const loss = await this.#stepOnce();
      if (loss === undefined) {
        if (losses.length > 0) break;
        throw new Error("the run is at its end; create another one to train longer");
      }
      losses.push(loss);
      this.#step++;
      const isCopyDue = this.#step % COPY_EVERY === 0 || performance.now() >= this.#copyDue;
      if (this.#placement.isOnGpu && isCopyDue) await this.#makeCopy();
      await nextTurn();
    }
    return { step: this.#step, losses: Float32Array.from(losses) };
  }

  /** The loss before a step; `undefined` at the end of the run. */
  async #stepOnce(): Promise<number | undefined> {
    try {
      return await this.#placement.run((run) => run.step());
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  async probe(images: number | undefined): Promise<Methods["probe"]["output"]> {
    const reading = await this.#placement.run((run) => run.probe(images));
    const { accuracy, leak, map } = reading;
    reading.free();
    return { step: this.#step, accuracy, leak, map };
  }

  async checkpoint(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#placement.run((run) => run.checkpoint())) as Uint8Array<ArrayBuffer>;
  }

  free(): void {
    this.#placement.free();
  }

  async #makeCopy(): Promise<void> {
    const begun = performance.now();
    this.#copy = await this.#placement.run((run) => stateOf(run));
    const ended = performance.now();
    // Some browsers have a clock so coarse that a copy seems to take no time.
    this.#copyDue = ended + Math.max(ended - begun, 1) / COPYING;
  }

  /** The same run on WebGPU, whose first loss has to agree with that of the CPU. */
  async putOn({ device, info }: Gpu): Promise<Run> {
    const run = begin(webgpu.Trainer, this.input, device);
    try {
      this.#firstLoss ??= await this.onCpu.first_loss();
      checkAgreement(info, [this.#firstLoss], [await run.first_loss()]);
    } catch (error) {
      run.free();
      throw error;
    }
    return run;
  }

  async handOver(to: Run, from?: Run): Promise<void> {
    if (from) this.#copy = await stateOf(from);
    to.resume(this.#copy);
    while (to.step_number < this.#step) await to.step();
  }
}

/** The trainer class of either bundle. */
interface Trainers<Device, Trainer> {
  new (settings: string, device: Device): Trainer;
  on_images(settings: string, pixels: Uint8Array, labels: Uint16Array, device: Device): Trainer;
}

/** Starts a run on drawn digits or on images of the page. */
function begin<Device, Trainer>(
  Trainer: Trainers<Device, Trainer>,
  { settings, own }: Methods["openTrainer"]["input"],
  device: Device,
): Trainer {
  return own ? Trainer.on_images(settings, own.pixels, own.labels, device) : new Trainer(settings, device);
}

async function stateOf(run: Run): Promise<Uint8Array<ArrayBuffer>> {
  return (await run.state()) as Uint8Array<ArrayBuffer>;
}
