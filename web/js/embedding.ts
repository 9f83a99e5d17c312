// The worker's end of an encoder: on the CPU always, and on WebGPU where that is wanted, believed, and not lost.
import * as cpu from "./generated/cpu.js";
import * as webgpu from "./generated/webgpu.js";
import { CPU, checkAgreement, type Gpu, messageOf, openGpu, reasonForCpu, reopenGpu } from "./gpu.js";
import { pixelsOf } from "./image.js";
import { messages } from "./messages.js";
import type { DeviceChoice, DeviceInfo, EncoderInfo, Pictures, Vectors } from "./protocol.js";

/** Images between two looks at whether a call was taken back. */
const CHUNK = 16;
/** Losses after which a device is given up. */
const MOST_LOSSES = 3;

export class Embedding {
  readonly info: EncoderInfo;
  readonly #onCpu: cpu.Encoder;
  #onGpu: { readonly encoder: webgpu.Encoder; readonly gpu: Gpu } | undefined;
  #losses = 0;
  #isFreed = false;

  constructor(
    private readonly checkpoint: Uint8Array,
    private readonly onDevice: (device: DeviceInfo) => void,
  ) {
    this.#onCpu = new cpu.Encoder(checkpoint, cpu.Device.cpu());
    this.info = JSON.parse(this.#onCpu.info) as EncoderInfo;
  }

  async choose(choice: DeviceChoice): Promise<DeviceInfo> {
    const stay = await reasonForCpu(choice);
    if (stay) return stay;
    if (choice === "webgpu") return this.#moveTo(await openGpu());
    this.#moveInBackground(openGpu());
    return { ...CPU, reason: "WebGPU is being tested" };
  }

  async embed(input: Pictures, isCancelled: () => boolean): Promise<Vectors> {
    const { image_size: size, embedding_size: length } = this.#onCpu;
    const count = "floats" in input ? input.floats.dims[0] : input.pictures.length;
    const data = new Float32Array(count * length);
    for (let at = 0; at < count && !isCancelled(); at += CHUNK) {
      const end = Math.min(at + CHUNK, count);
      const images =
        "floats" in input
          ? input.floats.data.slice(at * size, end * size)
          : prepare(this.#onCpu, input.pictures.slice(at, end));
      data.set(await this.#run(images, end - at), at * length);
      await messages();
    }
    return { data, dims: [count, length] };
  }

  free(): void {
    this.#isFreed = true;
    this.#onCpu.free();
    this.#onGpu?.encoder.free();
    this.#onGpu = undefined;
  }

  /** Loads the encoder on WebGPU and believes it only if it computes what the CPU computes. */
  async #moveTo(gpu: Gpu): Promise<DeviceInfo> {
    const encoder = new webgpu.Encoder(this.checkpoint, gpu.device);
    const images = testImages(this.#onCpu.image_size * 2);
    try {
      checkAgreement(gpu.info, await this.#onCpu.embed(images, 2), await encoder.embed(images, 2));
      if (this.#isFreed) throw new Error("this object was disposed");
    } catch (error) {
      encoder.free();
      throw error;
    }
    this.#onGpu = { encoder, gpu };
    return gpu.info;
  }

  #moveInBackground(opening: Promise<Gpu>): void {
    const moving = opening.then((gpu) => this.#moveTo(gpu));
    moving.then(this.onDevice, (error: unknown) => {
      this.onDevice({ ...CPU, reason: `WebGPU cannot be used: ${messageOf(error)}` });
    });
  }

  async #run(images: Float32Array, count: number): Promise<Float32Array> {
    const onGpu = this.#onGpu;
    if (onGpu) {
      try {
        return await onGpu.encoder.embed(images, count);
      } catch (error) {
        this.#lose(onGpu.gpu, error);
      }
    }
    return this.#onCpu.embed(images, count);
  }

  /** A device can be lost at any time: the CPU answers until there is another. */
  #lose(gpu: Gpu, error: unknown): void {
    this.#onGpu = undefined;
    this.#losses++;
    this.onDevice({ ...CPU, reason: `WebGPU stopped: ${messageOf(error)}` });
    if (this.#losses < MOST_LOSSES) this.#moveInBackground(reopenGpu(gpu));
  }
}

/** Pictures in the layout and size that the encoder takes, values in 0..1. */
function prepare(encoder: cpu.Encoder, pictures: Extract<Pictures, { pictures: unknown }>["pictures"]): Float32Array {
  const size = encoder.image_size;
  const images = new Float32Array(pictures.length * size);
  pictures.forEach((picture, at) => {
    const { data, width, height } = pixelsOf(picture);
    images.set(encoder.prepare(data as unknown as Uint8Array, width, height), at * size);
  });
  return images;
}

/** A pattern in 0..1 with few repetitions. */
function testImages(length: number): Float32Array {
  return Float32Array.from({ length }, (_, at) => (Math.sin(at * 0.37) * Math.cos(at * 0.0113) + 1) / 2);
}
