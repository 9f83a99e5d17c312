// The options of a trainer, and their checks.
import type { DeviceChoice, DeviceInfo } from "../shared/protocol.js";
import type { ImageSource } from "./decode.js";
import { checkFinite, checkInteger, inWords, MOST_DIGITS } from "./options.js";
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

/** The names of the options. */
export const TRAINER_OPTIONS = {
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

/** True for images of one's own, false for a number of digits. */
export function isOwn(images: TrainerOptions["images"]): images is readonly LabelledImage[] {
  return Array.isArray(images);
}

/** The settings of a run that are given, for the worker; throws for those that are out of range. */
export function settingsOf(options: TrainerOptions) {
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
