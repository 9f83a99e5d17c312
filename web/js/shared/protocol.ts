// The messages between a page and its worker.

/** The device to compute on. `auto` takes a WebGPU adapter that is real hardware, else the CPU. */
export type DeviceChoice = "auto" | "webgpu" | "cpu";

/** The device that computes, and the reason for it. */
export interface DeviceInfo {
  readonly kind: "webgpu" | "cpu";
  /** Name for people: the adapter, or the kind of WebAssembly. */
  readonly name: string;
  /** True if a WebGPU adapter is emulated on the CPU. */
  readonly software: boolean;
  /** The reason why WebGPU is not used, where it was wanted or allowed. */
  readonly reason?: string;
}

/** The metadata of a checkpoint. */
export interface EncoderInfo {
  /** Architecture, such as `lenet5` or `resnet18`. */
  readonly encoder: string;
  /** Channels, height and width of the images that the encoder takes. */
  readonly inputSize: readonly [channels: number, height: number, width: number];
  /** Mean of each channel, subtracted from values in 0..1. */
  readonly mean: readonly number[];
  /** Standard deviation of each channel, by which the difference is divided. */
  readonly std: readonly number[];
  /** Length of an embedding. */
  readonly embeddingSize: number;
  /** The whole metadata document of the file. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Row-major vectors: `dims[0]` rows of `dims[1]` numbers. */
export interface Vectors {
  readonly data: Float32Array;
  readonly dims: readonly [rows: number, columns: number];
}

/** Images as numbers in 0..1, `[n, channels, height, width]`, of exactly the size that the encoder takes. */
export interface FloatImages {
  readonly data: Float32Array;
  readonly dims: readonly [n: number, channels: number, height: number, width: number];
}

/** Eight bits a channel, RGBA, not premultiplied. */
export interface RgbaPixels {
  readonly data: Uint8ClampedArray | Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Most images that are sent and embedded at once: a cancelled call stops within so many. */
export const AT_ONCE = 16;

/** Images for the worker. */
export type Pictures = { readonly pictures: readonly (ImageBitmap | RgbaPixels)[] } | { readonly floats: FloatImages };

/** Images that core drew, each `width` x `height` pixels of RGBA. */
export interface Digits {
  readonly width: number;
  readonly height: number;
  /** All images, one after the other. */
  readonly pixels: Uint8Array;
  /** The digit of each image. */
  readonly labels: Uint8Array;
  /** The colour of each background, three bytes of RGB. */
  readonly backgrounds: Uint8Array;
  /** @deprecated The former name of `backgrounds`. */
  readonly grounds: Uint8Array;
}

/** Images to train on, of the size that a trainer takes. */
export interface OwnImages {
  /** All images one after the other, `[n, side, side, 3]`. */
  readonly pixels: Uint8Array;
  /** The class of each. */
  readonly labels: Uint16Array;
}

/**
 * Why a result is meaningless: `unread` is a parameter that the form does not read; the others are why the condition has no effect,
 * because it has one value, or numbers of one sign under the kernel `cosine`, or no two samples, or all, are alike in it.
 */
export type WarningKind = "unread" | "one-value" | "one-sign" | "all-apart" | "all-alike";

/** The methods of the worker: the input and the output of each. */
export interface Methods {
  loadEncoder: {
    input: { checkpoint: Uint8Array; device: DeviceChoice };
    output: { info: EncoderInfo; device: DeviceInfo };
  };
  embed: { input: Pictures; output: Vectors };
  drawDigits: { input: { count: number; seed: number }; output: Digits };
  openLab: { input: { device: DeviceChoice }; output: { device: DeviceInfo } };
  evaluate: { input: { document: string }; output: { document: string } };
  forces: { input: { document: string }; output: { document: string } };
  differentiate: {
    input: { document: string; viewA: Vectors; viewB: Vectors };
    output: { loss: number; gradA: Float32Array; gradB: Float32Array };
  };
  fitToTrain: { input: { pictures: readonly (ImageBitmap | RgbaPixels)[] }; output: { pixels: Uint8Array } };
  openTrainer: {
    input: { settings: string; own: OwnImages | undefined; device: DeviceChoice };
    output: {
      device: DeviceInfo;
      iterations: number;
      recipe: string;
      warnings: string[];
      warningKinds: WarningKind[];
      labels: Uint16Array;
      colours: Uint8Array;
    };
  };
  train: { input: { steps: number }; output: { step: number; losses: Float32Array } };
  probe: {
    input: { images: number | undefined };
    output: { step: number; accuracy: number; leak: number; map: Float32Array };
  };
  writeCheckpoint: { input: Record<never, never>; output: { checkpoint: Uint8Array<ArrayBuffer> } };
  listObjectives: { input: Record<never, never>; output: { document: string } };
}

export type Method = keyof Methods;

export interface Call {
  readonly id: number;
  readonly method: Method;
  readonly input: Methods[Method]["input"];
}

/** The WebAssembly bundle of a device. */
export type BundleName = DeviceInfo["kind"];

/** A bundle that a worker wanted, or the reason why there is none. */
export type BundleAnswer =
  | { readonly bundle: BundleName; readonly compiled: WebAssembly.Module }
  | { readonly bundle: BundleName; readonly error: string };

/** A call, the number of a call that is not wanted any more, or a bundle. */
export type Request = Call | { readonly cancel: number } | BundleAnswer;

/** An answer, the device that computes now, or the bundle that a worker wants. */
export type Reply =
  | { readonly id: number; readonly output: Methods[Method]["output"] }
  | { readonly id: number; readonly error: { readonly name: string; readonly message: string } }
  | { readonly device: DeviceInfo }
  | { readonly wanted: BundleName };
