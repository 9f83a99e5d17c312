// The worker's end of a run: one trainer on the device that was chosen.
import * as cpu from "./generated/cpu.js";
import * as webgpu from "./generated/webgpu.js";
import { CPU, checkAgreement, messageOf, openGpu, reasonForCpu } from "./gpu.js";
import { messages } from "./messages.js";
import type { DeviceInfo, Methods } from "./protocol.js";

export class Training {
  private constructor(
    private readonly trainer: cpu.Trainer | webgpu.Trainer,
    readonly device: DeviceInfo,
  ) {}

  static async open(input: Methods["openTrainer"]["input"]): Promise<Training> {
    const onCpu = begin(cpu.Trainer, input, cpu.Device.cpu());
    const { device: choice } = input;
    const stay = await reasonForCpu(choice);
    if (stay) return new Training(onCpu, stay);
    try {
      const { trainer, info } = await moveToGpu(onCpu, input);
      onCpu.free();
      return new Training(trainer, info);
    } catch (error) {
      if (choice === "webgpu") throw error;
      return new Training(onCpu, { ...CPU, reason: `WebGPU cannot be used: ${messageOf(error)}` });
    }
  }

  /** What the page is told of a run at its beginning. */
  describe(): Methods["openTrainer"]["output"] {
    const { recipe, mapped_labels: labels, mapped_colours: colours } = this.trainer;
    return { device: this.device, recipe, labels, colours };
  }

  /** Runs so many steps, or fewer where the call is taken back. */
  async train(steps: number, isCancelled: () => boolean): Promise<Methods["train"]["output"]> {
    const losses: number[] = [];
    while (losses.length < steps && !isCancelled()) {
      losses.push(await this.trainer.step());
      await messages();
    }
    return { step: this.trainer.step_number, losses: Float32Array.from(losses) };
  }

  async probe(images: number | undefined): Promise<Methods["probe"]["output"]> {
    const found = await this.trainer.probe(images);
    const { accuracy, leak, map } = found;
    found.free();
    return { step: this.trainer.step_number, accuracy, leak, map };
  }

  async checkpoint(): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.trainer.checkpoint()) as Uint8Array<ArrayBuffer>;
  }

  free(): void {
    this.trainer.free();
  }
}

/** What both bundles call a trainer. */
interface Trainers<Device, Trainer> {
  new (settings: string, device: Device): Trainer;
  on_images(settings: string, pixels: Uint8Array, labels: Uint32Array, device: Device): Trainer;
}

/** A run at its beginning, on drawn digits or on images of the page's own. */
function begin<Device, Trainer>(
  Trainer: Trainers<Device, Trainer>,
  { settings, own }: Methods["openTrainer"]["input"],
  device: Device,
): Trainer {
  return own ? Trainer.on_images(settings, own.pixels, own.labels, device) : new Trainer(settings, device);
}

/** The same run on WebGPU, whose first loss has to be that of the CPU. */
async function moveToGpu(
  onCpu: cpu.Trainer,
  input: Methods["openTrainer"]["input"],
): Promise<{ trainer: webgpu.Trainer; info: DeviceInfo }> {
  const { device, info } = await openGpu();
  const trainer = begin(webgpu.Trainer, input, device);
  try {
    checkAgreement(info, [await onCpu.first_loss()], [await trainer.first_loss()]);
  } catch (error) {
    trainer.free();
    throw error;
  }
  return { trainer, info };
}
