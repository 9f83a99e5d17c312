// The worker's end: one WebAssembly instance for each device, one encoder or lab on them, one call after the other.
import { findAdapter } from "./adapter.js";
import * as cpu from "./generated/cpu.js";
import * as webgpu from "./generated/webgpu.js";
import { pixelsOf } from "./image.js";
import type { DeviceChoice, DeviceInfo, EncoderInfo, Method, Methods, Pictures, Vectors } from "./protocol.js";

type Handlers = { [M in Method]: (input: Methods[M]["input"]) => Promise<Methods[M]["output"]> };

const CPU: DeviceInfo = { kind: "cpu", name: "WebAssembly with SIMD", software: false };

/** How far a value on WebGPU may lie from the same value on the CPU, relative to the largest, to be believed. */
const SELF_TEST_TOLERANCE = 1e-3;

/** Computes for one page object. */
export class Engine implements Handlers {
  readonly #ready: Promise<unknown>;
  readonly #onDevice: (device: DeviceInfo) => void;
  #onCpu: cpu.Encoder | undefined;
  #onGpu: webgpu.Encoder | undefined;
  #lab: cpu.Device | webgpu.Device | undefined;

  constructor(onDevice: (device: DeviceInfo) => void) {
    this.#onDevice = onDevice;
    this.#ready = cpu.default({ module_or_path: new URL("./cpu.wasm", import.meta.url) });
    // The first call reports a failure; until then it is nobody's unhandled rejection.
    this.#ready.catch(() => {});
  }

  async call<M extends Method>(method: M, input: Methods[M]["input"]): Promise<Methods[M]["output"]> {
    await this.#ready;
    return (this as Handlers)[method](input);
  }

  async loadEncoder({
    checkpoint,
    device,
  }: Methods["loadEncoder"]["input"]): Promise<Methods["loadEncoder"]["output"]> {
    const encoder = new cpu.Encoder(checkpoint, cpu.Device.cpu());
    this.#onCpu = encoder;
    const info = JSON.parse(encoder.info) as EncoderInfo;
    return { info, device: await this.#chooseDevice(device, encoder, checkpoint) };
  }

  async embed(input: Pictures): Promise<Vectors> {
    const onCpu = this.#encoder();
    const images = "floats" in input ? input.floats.data : prepare(onCpu, input);
    const count = "floats" in input ? input.floats.dims[0] : input.pictures.length;
    const data = await this.#run(images, count);
    return { data, dims: [count, onCpu.embedding_size] };
  }

  async drawDigits({ count, seed }: Methods["drawDigits"]["input"]): Promise<Methods["drawDigits"]["output"]> {
    using digits = cpu.draw_digits(count, seed);
    const { width, height, pixels, labels, grounds } = digits;
    return { width, height, pixels, labels, grounds };
  }

  async openLab({ device }: Methods["openLab"]["input"]): Promise<Methods["openLab"]["output"]> {
    // A batch of points is too small for a GPU to gain anything.
    if (device !== "webgpu") {
      this.#lab = cpu.Device.cpu();
      return { device: CPU };
    }
    const gpu = await openGpu();
    this.#lab = gpu.device;
    return { device: gpu.info };
  }

  async evaluate({ document }: Methods["evaluate"]["input"]): Promise<Methods["evaluate"]["output"]> {
    const { bundle, device } = this.#openedLab();
    return { document: await bundle.evaluate(document, device) };
  }

  async forces({ document }: Methods["forces"]["input"]): Promise<Methods["forces"]["output"]> {
    const { bundle, device } = this.#openedLab();
    return { document: await bundle.forces(document, device) };
  }

  async listObjectives(): Promise<Methods["listObjectives"]["output"]> {
    return { document: cpu.catalogue() };
  }

  /** The device of the lab, and the bundle that it belongs to. */
  #openedLab(): { bundle: Pick<typeof cpu, "evaluate" | "forces">; device: never } {
    const device = this.#lab;
    if (!device) throw new Error("no loss lab was opened");
    return { bundle: device instanceof cpu.Device ? cpu : webgpu, device: device as never };
  }

  #encoder(): cpu.Encoder {
    if (!this.#onCpu) throw new Error("no encoder was loaded");
    return this.#onCpu;
  }

  async #chooseDevice(choice: DeviceChoice, encoder: cpu.Encoder, checkpoint: Uint8Array): Promise<DeviceInfo> {
    if (choice === "cpu") return CPU;
    if (choice === "webgpu") return this.#moveToGpu(encoder, checkpoint);

    const adapter = await findAdapter();
    if ("missing" in adapter) return { ...CPU, reason: adapter.missing };
    if (adapter.software) return { ...CPU, reason: `the WebGPU adapter ${adapter.name} is emulated on the CPU` };
    this.#moveToGpu(encoder, checkpoint).then(this.#onDevice, (error: unknown) => {
      this.#onDevice({ ...CPU, reason: `WebGPU cannot be used: ${messageOf(error)}` });
    });
    return { ...CPU, reason: "WebGPU is being tested" };
  }

  /** Loads the encoder on WebGPU and believes it only if it computes what the CPU computes. */
  async #moveToGpu(onCpu: cpu.Encoder, checkpoint: Uint8Array): Promise<DeviceInfo> {
    const { device, info } = await openGpu();
    const onGpu = new webgpu.Encoder(checkpoint, device);
    const images = testImages(onCpu.image_size * 2);
    const [expected, found] = [await onCpu.embed(images, 2), await onGpu.embed(images, 2)];
    const scale = Math.max(...expected.map(Math.abs));
    const error = Math.max(...expected.map((value, at) => Math.abs(value - (found[at] ?? Number.NaN))));
    if (!(error <= SELF_TEST_TOLERANCE * scale)) {
      onGpu.free();
      throw new Error(`${info.name} does not compute what the CPU computes (difference ${error})`);
    }
    this.#onGpu = onGpu;
    return info;
  }

  async #run(images: Float32Array, count: number): Promise<Float32Array> {
    if (this.#onGpu) {
      try {
        return await this.#onGpu.embed(images, count);
      } catch (error) {
        // A device can be lost at any time; the encoder on the CPU is still there.
        this.#onGpu = undefined;
        this.#onDevice({ ...CPU, reason: `WebGPU stopped: ${messageOf(error)}` });
      }
    }
    return this.#encoder().embed(images, count);
  }
}

async function openGpu(): Promise<{ device: webgpu.Device; info: DeviceInfo }> {
  const adapter = await findAdapter();
  if ("missing" in adapter) throw new Error(`WebGPU cannot be used: ${adapter.missing}`);
  await webgpu.default({ module_or_path: new URL("./webgpu.wasm", import.meta.url) });
  return { device: await webgpu.Device.webgpu(), info: { kind: "webgpu", ...adapter } };
}

/** All pictures in the layout and size that the encoder takes, values in 0..1. */
function prepare(encoder: cpu.Encoder, { pictures }: Extract<Pictures, { pictures: unknown }>): Float32Array {
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

function messageOf(error: unknown): string {
  // What follows the first line is a chain of causes that says the same again.
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}
