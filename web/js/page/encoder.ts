import { joined } from "../shared/bytes.js";
import type { DeviceChoice, DeviceInfo, EncoderInfo, FloatImages, Vectors } from "../shared/protocol.js";
import { type CallOptions, checkSignal, signalOf } from "./call-options.js";
import { type CheckpointSource, checkSource, type Progress, readCheckpoint } from "./checkpoint.js";
import { Connection, CurrentDevice } from "./connection.js";
import type { ImageSource } from "./decode.js";
import { checkDevice, checkKeys, inWords } from "./options.js";
import { pack } from "./pictures.js";

/** Options for loading an encoder. */
export interface LoadOptions {
  /** Default: `auto`. */
  readonly device?: DeviceChoice;
  /** Called as the checkpoint arrives. */
  readonly onProgress?: (progress: Progress) => void;
  /** Called when the encoder moves to another device: to WebGPU once it passed its test, to the CPU if it is lost. */
  readonly onDevice?: (device: DeviceInfo) => void;
  /** Stops the loading. */
  readonly signal?: AbortSignal;
  /** Compute in a separate worker. Default: `true`. */
  readonly worker?: boolean;
  /** Cache a checkpoint that is given by its address. Default: `true`. */
  readonly cache?: boolean;
  /**
   * The version of the checkpoint at its address. A cached checkpoint of that version is used without a request;
   * without a version the server is asked whether its ETag or date is still the same.
   */
  readonly version?: string;
}

const OPTIONS = {
  device: true,
  onProgress: true,
  onDevice: true,
  signal: true,
  worker: true,
  cache: true,
  version: true,
} satisfies Record<keyof LoadOptions, true>;

/**
 * A trained encoder: images in, vectors out.
 *
 * ```js
 * const encoder = await Encoder.load("/model.safetensors");
 * const vector = await encoder.embed(document.querySelector("img"));
 * ```
 */
export class Encoder {
  /** The metadata of the checkpoint. */
  readonly info: EncoderInfo;

  readonly #connection: Connection;
  readonly #device: CurrentDevice;

  private constructor(
    connection: Connection,
    { info, device }: { info: EncoderInfo; device: DeviceInfo },
    onDevice?: (device: DeviceInfo) => void,
  ) {
    this.info = info;
    this.#device = new CurrentDevice(connection, device, onDevice);
    this.#connection = connection;
  }

  /**
   * Loads a checkpoint that `simile` wrote.
   *
   * With `device: "auto"` the encoder is ready as soon as the CPU is, and moves to WebGPU in the background where
   * the adapter is real hardware and its results agree with those of the CPU.
   */
  static async load(source: CheckpointSource, options: LoadOptions = {}): Promise<Encoder> {
    checkKeys("the options of Encoder.load", options, OPTIONS);
    checkSource(source);
    const { device = "auto", onProgress = () => {}, onDevice, signal, worker = true, cache = true, version } = options;
    checkDevice(device);
    checkSignal(signal);
    // A version of another type is never that of the kept copy, which is text.
    if (version !== undefined && typeof version !== "string") {
      throw new TypeError(`\`version\` is ${inWords(version)}, expected a string`);
    }
    signal?.throwIfAborted();
    // The worker fetches and compiles its WebAssembly while the checkpoint is on its way.
    const connection = await Connection.open({ worker });
    const abort = () => connection.close();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const { bytes, keep } = await readCheckpoint(source, { onProgress, signal, cache, version });
      const call = { signal, transfer: [bytes.buffer] };
      const loaded = await connection.call("loadEncoder", { checkpoint: bytes, device }, call);
      void keep?.();
      return new Encoder(connection, loaded, onDevice);
    } catch (error) {
      connection.close();
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** The device that computes now. */
  get device(): DeviceInfo {
    return this.#device.info;
  }

  /** The vector of one image. */
  async embed(image: ImageSource, options: CallOptions = {}): Promise<Float32Array> {
    return (await this.embedBatch([image], options)).data;
  }

  /**
   * The vectors of several images, each of any size; as floats, of the size that the encoder takes. Images are read at
   * most 16 at a time while the call runs, large ones fewer, and must not be changed or closed before it ends.
   */
  async embedBatch(images: readonly ImageSource[] | FloatImages, options: CallOptions = {}): Promise<Vectors> {
    const signal = signalOf(options);
    const parts: Float32Array[] = [];
    for await (const parcel of pack(images, this.info, signal)) {
      const { data } = await this.#connection.call("embed", parcel.images, { signal, transfer: parcel.transfer });
      parts.push(data);
    }
    const data = joined(parts, (length) => new Float32Array(length));
    const columns = this.info.embeddingSize;
    return { data, dims: [data.length / columns, columns] };
  }

  /** Stops the worker and frees what the encoder holds, on the GPU too. */
  dispose(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
