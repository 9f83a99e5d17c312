// The package `simile-web`. Programs that use its types need not name the library of `Symbol.dispose` themselves.
/// <reference lib="esnext.disposable" preserve="true" />
export { forgetCheckpoints } from "./cache.js";
export type { CallOptions } from "./call-options.js";
export type { ListedForm, ListedInput, ListedKernel, ListedObjective, ListedParameter } from "./catalogue.js";
export type { CheckpointSource, Progress } from "./checkpoint.js";
export { drawDigits } from "./digits.js";
export { decodeEach, decodeImage, type ImageSource, MOST_PIXELS } from "./decode.js";
export { Encoder, type LoadOptions } from "./encoder.js";
export {
  type Differentiation,
  type Evaluation,
  LossLab,
  type LossLabOptions,
  type SampleWeights,
} from "./lab.js";
export type { Conditioning, GivenRows, Inputs, Kernel, Numbers, Rows, Setting, Variant } from "./setting.js";
export { type MappedImages, type ProbeOptions, type Reading, type Steps, Trainer } from "./trainer.js";
export { heldOut, type LabelledImage, type TrainerOptions } from "./trainer-options.js";
export type {
  DeviceChoice,
  DeviceInfo,
  Digits,
  EncoderInfo,
  FloatImages,
  RgbaPixels,
  Vectors,
  WarningKind,
} from "../shared/protocol.js";
