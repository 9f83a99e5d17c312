import { joined } from "../shared/bytes.js";
import type { DeviceInfo, Methods, OwnImages, WarningKind } from "../shared/protocol.js";
import { type CallOptions, checkSignal, signalOf } from "./call-options.js";
import { Connection, CurrentDevice } from "./connection.js";
import { checkDevice, checkInteger, checkKeys } from "./options.js";
import { packPictures } from "./pictures.js";
import { isOwn, type LabelledImage, settingsOf, TRAINER_OPTIONS, type TrainerOptions } from "./trainer-options.js";

/** Steps that were done. */
export interface Steps {
  /** Number of steps of the run so far. */
  readonly step: number;
  /** The loss before each of the steps of this call. */
  readonly losses: Float32Array;
}

/** Options of a probe. */
export interface ProbeOptions extends CallOptions {
  /**
   * The number of training images for fitting the probes: a few hundred during a run. Default: all of them, with the
   * budget of `simile evaluate`, which then gives the same numbers.
   */
  readonly images?: number;
}

const PROBE = { images: true, signal: true } satisfies Record<keyof ProbeOptions, true>;

/** The results of the probes on the representation of the test images. */
export interface Reading {
  /** Number of steps of the run so far. */
  readonly step: number;
  /** Accuracy of a linear classifier of the digits, 0 to 1. */
  readonly accuracy: number;
  /** R² of a ridge regression of the colours of the backgrounds: 1 where they can be predicted, 0 where they cannot. */
  readonly leak: number;
  /** The projection of the images of `Trainer.mapped` onto the two main directions: `x, y` for each. */
  readonly map: Float32Array;
}

/** The test images that a map shows. */
export interface MappedImages {
  /** The digit of each, or the class of an image of your own. */
  readonly labels: Uint16Array;
  /** The colour of each background, three bytes of RGB. */
  readonly colours: Uint8Array;
}

/**
 * Trains a small encoder, LeNet-5, on digits which the page draws itself, or on images of yours.
 *
 * ```js
 * const kernel = { name: "rbf", sigma: 20 }; // of colours, 0 to 255
 * const trainer = await Trainer.create({ objective: "fair-cclk", kernel, iterations: 300 });
 * while (trainer.iteration < trainer.iterations) {
 *   const { losses } = await trainer.step(10);
 * }
 * const { accuracy, leak } = await trainer.probe();
 * const file = await trainer.checkpoint();
 * ```
 */
export class Trainer {
  /** Steps of the whole run. */
  readonly iterations: number;
  /** The run as a recipe of the command line; `null` for images of your own, which the command line does not have. */
  readonly recipe: Readonly<Record<string, unknown>> | null;
  /**
   * Reasons why the run is meaningless though its settings are valid, such as a kernel that is too narrow for the colours;
   * mostly none.
   */
  readonly warnings: readonly string[];
  /** The kind of each of `warnings`. */
  readonly warningKinds: readonly WarningKind[];
  readonly mapped: MappedImages;
  readonly #connection: Connection;
  readonly #device: CurrentDevice;
  #iteration = 0;

  private constructor(
    connection: Connection,
    opened: Methods["openTrainer"]["output"],
    device: CurrentDevice,
  ) {
    this.#device = device;
    this.iterations = opened.iterations;
    this.recipe = JSON.parse(opened.recipe) as Record<string, unknown> | null;
    this.warnings = opened.warnings;
    this.warningKinds = opened.warningKinds;
    this.mapped = { labels: opened.labels, colours: opened.colours };
    this.#connection = connection;
  }

  /** Draws the digits and prepares the network; settings that cannot be used reject. */
  static async create(options: TrainerOptions): Promise<Trainer> {
    checkKeys("the options of a Trainer", options, TRAINER_OPTIONS);
    const { device = "auto", images, onDevice, worker = true, signal } = options;
    checkDevice(device);
    checkSignal(signal);
    const settings = settingsOf(options);
    signal?.throwIfAborted();
    const connection = await Connection.open({ worker });
    try {
      const own = isOwn(images) ? await fitted(images, connection, signal) : undefined;
      const input = { settings: JSON.stringify(settings), own, device };
      const transfer = own ? [own.pixels.buffer as ArrayBuffer, own.labels.buffer as ArrayBuffer] : [];
      const opened = await connection.call("openTrainer", input, { signal, transfer });
      return new Trainer(connection, opened, new CurrentDevice(connection, opened.device, onDevice));
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** The device that computes now. */
  get device(): DeviceInfo {
    return this.#device.info;
  }

  /** Steps of the run so far. */
  get iteration(): number {
    return this.#iteration;
  }

  /**
   * Does one step, or several: fewer where fewer are left. Rejects at the end of the run. A cancelled call ends after
   * the current step, and rejects then; finished steps are kept, and `iteration` counts them.
   */
  async step(count = 1, options: CallOptions = {}): Promise<Steps> {
    const signal = signalOf(options);
    signal?.throwIfAborted();
    // `Infinity` is all that are left.
    checkInteger("count", typeof count === "number" ? Math.min(count, this.iterations) : count, 0);
    try {
      return await this.#train(count, signal);
    } catch (error) {
      // The call may have done steps, of which it gives no account. A failure of the worker has been reported already.
      await this.#train(0).catch(() => {});
      throw error;
    }
  }

  /** Fits the probes of digit and colour, and measures them on the representation of the test images. */
  async probe(options: ProbeOptions = {}): Promise<Reading> {
    checkKeys("the options of a probe", options, PROBE);
    const { images, signal } = options;
    checkSignal(signal);
    if (images !== undefined) checkInteger("images", images, 1);
    const reading = await this.#connection.call("probe", { images }, { signal });
    this.#iteration = reading.step;
    return reading;
  }

  /** The current encoder: a `.safetensors` file for `Encoder.load`, `simile evaluate` and PyTorch. */
  async checkpoint(options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#connection.call("writeCheckpoint", {}, { signal: signalOf(options) })).checkpoint;
  }

  /** Stops the worker and frees what the run holds. */
  dispose(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #train(steps: number, signal?: AbortSignal): Promise<Steps> {
    const done = await this.#connection.call("train", { steps }, { signal });
    this.#iteration = done.step;
    return done;
  }
}

/** Images scaled to the size that a trainer takes. */
async function fitted(
  images: readonly LabelledImage[],
  connection: Connection,
  signal: AbortSignal | undefined,
): Promise<OwnImages> {
  const parts: Uint8Array[] = [];
  const sources = images.map(({ image }) => image);
  for await (const { pictures, transfer } of packPictures(sources, signal)) {
    parts.push((await connection.call("fitToTrain", { pictures }, { signal, transfer })).pixels);
  }
  return { pixels: joined(parts, (length) => new Uint8Array(length)), labels: Uint16Array.from(images, ({ label }) => label) };
}
