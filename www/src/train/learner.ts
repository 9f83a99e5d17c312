// One training run: steps and periodic probes until it is paused or finished.
import {
  type DeviceInfo,
  type MappedImages,
  type Reading,
  Trainer,
  type TrainerOptions,
  type WarningKind,
} from "simile-web";
import { orOnCpu, withRefusal } from "../device-choice.js";

/** Steps between two reports of the loss. */
const STRIDE = 4;
/** Probes of a whole run. */
const PROBES = 25;
/** Training images for fitting a probe during the run. */
const FITTED = 1000;

/** Callbacks of a learner. */
export interface Listener {
  /** The mean loss of the last `count` steps up to `step`, and their duration. */
  onSteps(step: number, loss: number, count: number, milliseconds: number): void;
  /** The result of a probe. */
  onReading(reading: Reading): void;
}

export class Learner {
  #isPaused = true;
  #running: Promise<void> = Promise.resolve();
  #probed = -1;

  private constructor(
    private readonly trainer: Trainer,
    private readonly refusal: string | undefined,
    private readonly listener: Listener,
  ) {}

  static async create(options: TrainerOptions, listener: Listener): Promise<Learner> {
    const { value: trainer, refusal } = await orOnCpu(options, (attempt) => Trainer.create(attempt));
    return new Learner(trainer, refusal, listener);
  }

  /** Where it computes, with the reason why that is not WebGPU, if that was asked for. */
  get device(): DeviceInfo {
    return withRefusal(this.trainer.device, this.refusal);
  }

  /** Reasons why the run is meaningless though its settings are valid. */
  get warnings(): readonly string[] {
    return this.trainer.warnings;
  }

  /** The kind of each of the warnings. */
  get warningKinds(): readonly WarningKind[] {
    return this.trainer.warningKinds;
  }

  get mapped(): MappedImages {
    return this.trainer.mapped;
  }

  /** Steps of the run so far. */
  get step(): number {
    return this.trainer.iteration;
  }

  get isFinished(): boolean {
    return this.step >= this.trainer.iterations;
  }

  /** Continues until the run is finished or paused. */
  run(): Promise<void> {
    this.#isPaused = false;
    this.#running = this.#running.then(() => this.#advance());
    return this.#running;
  }

  /** Stops after the current step; settles once it has stopped. */
  pause(): Promise<void> {
    this.#isPaused = true;
    return this.#running;
  }

  async #advance(): Promise<void> {
    const { trainer, listener } = this;
    const interval = Math.max(1, Math.round(trainer.iterations / PROBES));
    while (!this.#isPaused && !this.isFinished) {
      if (trainer.iteration >= this.#probed + interval || this.#probed < 0) await this.#probe(FITTED);
      const begun = performance.now();
      const { step, losses } = await trainer.step(Math.min(STRIDE, trainer.iterations - trainer.iteration));
      const loss = losses.reduce((sum, value) => sum + value, 0) / losses.length;
      listener.onSteps(step, loss, losses.length, performance.now() - begun);
    }
    if (this.isFinished && this.#probed < trainer.iterations) await this.#probe();
  }

  async #probe(images?: number): Promise<void> {
    const reading = await this.trainer.probe(images === undefined ? {} : { images });
    this.#probed = reading.step;
    this.listener.onReading(reading);
  }

  checkpoint(): Promise<Uint8Array<ArrayBuffer>> {
    return this.trainer.checkpoint();
  }

  dispose(): void {
    this.#isPaused = true;
    this.trainer.dispose();
  }
}
