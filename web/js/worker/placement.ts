// The placement of a computation: on WebGPU while that is wanted, verified and not lost, else on the CPU.
import { messageOf } from "../shared/errors.js";
import type { DeviceChoice, DeviceInfo } from "../shared/protocol.js";
import { CPU, cpuByAdapter, type Gpu, onCpu, onCpuAfter, openGpu, reopenGpu } from "./gpu.js";

/** Device losses after which WebGPU is given up. */
const MOST_LOSSES = 3;

/** When `auto` moves a computation to WebGPU where that is worth a test: before the first answer, meanwhile, or not at all. */
export type Moving = "at-once" | "in-background" | "if-asked";

/** A computation that can run on either device. */
export interface Movable<T> {
  /** The computation on the CPU, which always exists. */
  readonly onCpu: T;
  /** Creates the same on WebGPU; rejects where the results do not agree with those of the CPU. */
  putOn(gpu: Gpu): Promise<T>;
  /** Transfers the state to the new computation `to`, from the old one `from` unless that was lost. */
  handOver?(to: T, from?: T): Promise<void>;
}

export class Placement<T extends { free(): void }> {
  #onGpu: { readonly computation: T; readonly gpu: Gpu } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #losses = 0;
  #mayMove = true;
  #isFreed = false;

  constructor(
    private readonly movable: Movable<T>,
    private readonly onDevice: (device: DeviceInfo) => void,
  ) {}

  get isOnGpu(): boolean {
    return this.#onGpu !== undefined;
  }

  /** True until the CPU is chosen for good: then `putOn` is not called any more. */
  get mayMove(): boolean {
    return this.#mayMove;
  }

  /** Chooses the device to begin with; rejects where WebGPU is asked for and cannot be used. */
  async choose(choice: DeviceChoice, moving: Moving): Promise<DeviceInfo> {
    if (choice === "webgpu") return this.#move();
    const stay = choice === "cpu" || moving === "if-asked" ? CPU : await cpuByAdapter();
    if (stay) {
      this.#mayMove = false;
      return stay;
    }
    if (moving === "at-once") return this.#move().catch(onCpuAfter);
    this.#moveInBackground();
    return onCpu("WebGPU is being tested");
  }

  /** Moves from the CPU to WebGPU; rejects where that fails, and the CPU stays in use. */
  async #move(opening: Promise<Gpu> = openGpu()): Promise<DeviceInfo> {
    const gpu = await opening;
    const computation = await this.movable.putOn(gpu);
    await this.#inTurn(async () => {
      try {
        if (this.#isFreed) throw new Error("this object was disposed");
        await this.movable.handOver?.(computation, this.movable.onCpu);
      } catch (error) {
        computation.free();
        throw error;
      }
      this.#onGpu = { computation, gpu };
    });
    return gpu.info;
  }

  /** Moves to WebGPU in the background, while the CPU answers. */
  #moveInBackground(opening?: Promise<Gpu>): void {
    void this.#move(opening).catch(onCpuAfter).then(this.onDevice);
  }

  /** Runs some work on the current device; if that is lost meanwhile, again on the CPU. */
  run<R>(work: (computation: T) => Promise<R>): Promise<R> {
    return this.#inTurn(async () => {
      const { onCpu } = this.movable;
      const onGpu = this.#onGpu;
      if (!onGpu) return work(onCpu);
      try {
        return await work(onGpu.computation);
      } catch (error) {
        // An error that occurs on the CPU too is not a fault of the device.
        await this.movable.handOver?.(onCpu);
        const result = await work(onCpu);
        this.#lose(onGpu.gpu, error);
        return result;
      }
    });
  }

  free(): void {
    this.#isFreed = true;
    this.movable.onCpu.free();
    this.#onGpu?.computation.free();
    this.#onGpu = undefined;
  }

  /** A device can be lost at any time: the CPU continues until there is another. */
  #lose(gpu: Gpu, error: unknown): void {
    this.#onGpu = undefined;
    this.#losses++;
    this.onDevice(onCpu(`WebGPU stopped: ${messageOf(error)}`));
    if (this.#losses < MOST_LOSSES) this.#moveInBackground(reopenGpu(gpu));
  }

  /** Runs one task after the other, so that nothing moves in the middle of some work. */
  #inTurn<R>(task: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
