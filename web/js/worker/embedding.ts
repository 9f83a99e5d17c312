// The encoder in the worker.
import { AT_ONCE, type DeviceChoice, type DeviceInfo, type EncoderInfo, type Pictures, type Vectors } from "../shared/protocol.js";
import * as cpu from "../generated/cpu.js";
import * as webgpu from "../generated/webgpu.js";
import { checkAgreement, type Gpu } from "./gpu.js";
import { pixelsOf } from "./pixels.js";
import { type Movable, Placement } from "./placement.js";
import { nextTurn } from "./turn.js";

type Network = cpu.Encoder | webgpu.Encoder;

export class Embedding implements Movable<Network> {
  readonly info: EncoderInfo;
  readonly onCpu: cpu.Encoder;
  readonly #placement: Placement<Network>;
  /** The file, until the CPU is chosen for good. */
  #checkpoint: Uint8Array;

  constructor(checkpoint: Uint8Array, onDevice: (device: DeviceInfo) => void) {
    this.#checkpoint = checkpoint;
    this.onCpu = new cpu.Encoder(checkpoint, cpu.Device.cpu());
    this.info = JSON.parse(this.onCpu.info) as EncoderInfo;
    this.#placement = new Placement(this, onDevice);
  }

  async choose(choice: DeviceChoice): Promise<DeviceInfo> {
    const device = await this.#placement.choose(choice, "in-background");
    if (!this.#placement.mayMove) this.#checkpoint = new Uint8Array();
    return device;
  }

  async embed(input: Pictures, isCancelled: () => boolean): Promise<Vectors> {
    const { image_size: size, embedding_size: length } = this.onCpu;
    const count = "floats" in input ? input.floats.dims[0] : input.pictures.length;
    const data = new Float32Array(count * length);
    for (let at = 0; at < count && !isCancelled(); at += AT_ONCE) {
      const end = Math.min(at + AT_ONCE, count);
      const images =
        "floats" in input
          ? input.floats.data.slice(at * size, end * size)
          : prepare(this.onCpu, input.pictures.slice(at, end));
      data.set(await this.#placement.run((network) => network.embed(images, end - at)), at * length);
      await nextTurn();
    }
    return { data, dims: [count, length] };
  }

  free(): void {
    this.#placement.free();
  }

  async putOn({ device, info }: Gpu): Promise<Network> {
    const encoder = new webgpu.Encoder(this.#checkpoint, device);
    const images = testImages(this.onCpu.image_size * 2);
    try {
      checkAgreement(info, await this.onCpu.embed(images, 2), await encoder.embed(images, 2));
    } catch (error) {
      encoder.free();
      throw error;
    }
    return encoder;
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
