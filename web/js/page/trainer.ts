import { joined } from "../shared/bytes.js";
import type { DeviceChoice, DeviceInfo, Methods, OwnImages, WarningKind } from "../shared/protocol.js";
import { type CallOptions, checkSignal, signalOf } from "./call-options.js";
import { Connection, CurrentDevice } from "./connection.js";
import type { ImageSource } from "./decode.js";
import { checkDevice, checkFinite, checkInteger, checkKeys, inWords, MOST_DIGITS } from "./options.js";
import { packPictures } from "./pictures.js";
import { checkObjective, parametersOf, SETTING, type Setting } from "./setting.js";

/** Largest number of a class: 16 bits hold it. */
const MAX_LABEL = 0xffff;

/** Fewest images of a step, of a training set of yours, and of a test set: one has no other to be compared with. */
const FEWEST = 2;

/**
 * The objective, the number of digits and the device of a run. Omitted settings are those of the recipe `fair-digits`,
 * except that crops are from 0.3 of the area, and that the objective's own are its defaults: temperature 0.5 and the
 * cosine kernel for `fair-cclk`.
 */
export interface TrainerOptions extends Setting {
  /** Seed of the digits (or of the choice of held-out images), of the network and of the views. Default: 0. */
  readonly seed?: number;
  /** Steps of the whole run, 1 or more, through which the learning rate rises and falls. Default: 600. */
  readonly iterations?: number;
  /** Digits of a step, 2 or more; each is seen in two views. Default: 256. */
  readonly batch?: number;
  /** Default: 0.004. */
  readonly learningRate?: number;
  /**
   * The number of digits to draw and train on, up to 100,000, or images of your own, for which `z` is their mean colour.
   * Default: 8192.
   */
  readonly images?: number | readonly LabelledImage[];
  /** The number of test digits, or of your images to hold out, 2 or more. Default: 2000, or a fifth. */
  readonly testImages?: number;
  /** Default: `auto`. */
  readonly device?: DeviceChoice;
  /** Called when the run moves to another device: to the CPU if WebGPU is lost, and back once it is there again. */
  readonly onDevice?: (device: DeviceInfo) => void;
  /** Compute in a separate worker. Default: `true`. */
  readonly worker?: boolean;
  /** Stops the preparation. */
  readonly signal?: AbortSignal;
}

const OPTIONS = {
  ...SETTING,
  seed: true,
  iterations: true,
  batch: true,
  learningRate: true,
  images: true,
  testImages: true,
  device: true,
  onDevice: true,
  worker: true,
  signal: true,
} satisfies Record<keyof TrainerOptions, true>;

/** An image to train on. */
export interface LabelledImage {
  readonly image: ImageSource;
  /** Its class, an integer from 0 to 65535: the target of the probe, and the label for objectives with labels. */
  readonly label: number;
}

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
    checkKeys("the options of a Trainer", options, OPTIONS);
    const { device = "auto", images, onDevice, worker = true, signal } = options;
    checkDevice(device);
    checkSignal(signal);
    const settings = settingsOf(options);
    signal?.throwIfAborted();
    const connection = await Connection.open({ worker });
    try {
      const own = isOwn(images) ? await fitted(images, connection, signal) : undefined;
      const input = { settings: JSON.stringify(settings), own, device };
      const opened = await connection.call("openTrainer", input, { signal });
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

function isOwn(images: TrainerOptions["images"]): images is readonly LabelledImage[] {
  return Array.isArray(images);
}

/** The settings of a run that are given, for the worker; throws for those that are out of range. */
function settingsOf(options: TrainerOptions) {
  const { objective, variant, seed, iterations, batch, learningRate, images, testImages } = options;
  checkObjective(options);
  const parameters = { name: objective, variant, ...parametersOf(options) };
  checkFinite({ learningRate });
  if (learningRate !== undefined && typeof learningRate !== "number") {
    throw new TypeError(`learningRate is ${inWords(learningRate)}, expected a number`);
  }
  if (seed !== undefined) checkInteger("seed", seed, 0);
  if (iterations !== undefined) checkInteger("iterations", iterations, 1);
  if (batch !== undefined) checkInteger("batch", batch, FEWEST);
  const counts = isOwn(images) ? countsOfOwn(images, testImages) : countsOfDigits(images, testImages);
  return { objective: parameters, seed, iterations, batch, learningRate, ...counts };
}

/** The numbers of digits to train and to test on, where they are given. */
function countsOfDigits(images: number | undefined, testImages: number | undefined) {
  if (images !== undefined && typeof images !== "number") {
    throw new TypeError(`images is ${inWords(images)}, expected a number of digits or a list of { image, label }`);
  }
  if (images !== undefined) checkInteger("images", images, FEWEST, MOST_DIGITS);
  // `null` means the default too, as it does for images of your own.
  const testCount = testImages ?? undefined;
  if (testCount !== undefined) checkInteger("testImages", testCount, FEWEST, MOST_DIGITS);
  return { images, testImages: testCount };
}

/** The numbers of your images, and of those to be held out among them. */
function countsOfOwn(images: readonly LabelledImage[], testImages: number | undefined) {
  images.forEach((each, at) => checkInteger(`the label of image ${at}`, each?.label, 0, MAX_LABEL));
  const count = images.length;
  if (count < 2 * FEWEST) {
    const expected = `expected ${2 * FEWEST} or more: ${FEWEST} to train on and ${FEWEST} to hold out`;
    throw new RangeError(`images is a list of ${count}, ${expected}`);
  }
  const testCount = testImages ?? heldOut(count);
  checkInteger(`with ${count} images testImages`, testCount, FEWEST, count - FEWEST);
  return { images: count, testImages: testCount };
}

/** The number of your images that a run holds out of so many, where `testImages` is left out: a fifth, and two at least. */
export function heldOut(images: number): number {
  return Math.max(FEWEST, Math.ceil(images / 5));
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
