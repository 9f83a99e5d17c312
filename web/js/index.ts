// The package `simile-web`. Programs that use its types need not name the library of `Symbol.dispose` themselves.
/// <reference lib="esnext.disposable" preserve="true" />
export { forgetCheckpoints } from "./cache.js";
export type { CheckpointSource, Progress } from "./checkpoint.js";
export { drawDigits } from "./digits.js";
export { type CallOptions, Encoder, type LoadOptions } from "./encoder.js";
export { decodeImage, type ImageSource } from "./image.js";
export {
  type Differentiation,
  type Evaluation,
  type ListedInput,
  type ListedForm,
  type ListedKernel,
  type ListedObjective,
  type ListedParameter,
  LossLab,
  type LossLabOptions,
  type SampleWeights,
} from "./lab.js";
export type { Conditioning, GivenRows, Inputs, Kernel, Numbers, Rows, Setting, Variant } from "./setting.js";
export {
  type LabelledImage,
  type MappedImages,
  type ProbeOptions,
  type Reading,
  type Steps,
  Trainer,
  type TrainerOptions,
} from "./trainer.js";
export type { DeviceChoice, DeviceInfo, Digits, EncoderInfo, FloatImages, RgbaPixels, Vectors } from "./protocol.js";
