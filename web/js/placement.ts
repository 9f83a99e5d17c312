// Where something computes: on WebGPU while that is wanted, believed and not lost, else on the CPU.
import { CPU, type Gpu, messageOf, openGpu, reopenGpu } from "./gpu.js";
import type { DeviceInfo } from "./protocol.js";

/** Losses after which WebGPU is given up. */
const MOST_LOSSES = 3;

/** What can compute on either device. */
export interface Movable<T> {
  /** Always there. */
  readonly onCpu: T;
  /** Makes the same on WebGPU; rejects where that does not compute what the CPU computes. */
  putOn(gpu: Gpu): Promise<T>;
  /** Brings the one that takes over to where the work is; `from` had it before, unless that was lost. */
  handOver?(to: T, from?: T): Promise<void>;
}

export class Placement<T extends { free(): void }> {
  #onGpu: { readonly it: T; readonly gpu: Gpu } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #losses = 0;
  #isFreed = false;

  constructor(
    private readonly movable: Movable<T>,
    private readonly onDevice: (device: DeviceInfo) => void,
  ) {}

  get isOnGpu(): boolean {
    return this.#onGpu !== undefined;
  }

  /** Moves from the CPU to WebGPU; rejects where that cannot be, and the CPU stays. */
  async move(opening: Promise<Gpu> = openGpu()): Promise<DeviceInfo> {
    const gpu = await opening;
    const it = await this.movable.putOn(gpu);
    await this.#inTurn(async () => {
      try {
        if (this.#isFreed) throw new Error("this object was disposed");
        await this.movable.handOver?.(it, this.movable.onCpu);
      } catch (error) {
        it.free();
        throw error;
      }
      this.#onGpu = { it, gpu };
    });
    return gpu.info;
  }

  /** The same while the CPU answers. */
  moveInBackground(opening?: Promise<Gpu>): void {
    this.move(opening).then(this.onDevice, (error: unknown) => {
      this.onDevice({ ...CPU, reason: `WebGPU cannot be used: ${messageOf(error)}` });
    });
  }

  /** Does some work where that is done now: if the device is lost meanwhile, again on the CPU. */
  run<R>(work: (it: T) => Promise<R>): Promise<R> {
    return this.#inTurn(async () => {
      const { onCpu } = this.movable;
      const place = this.#onGpu;
      if (!place) return work(onCpu);
      try {
        return await work(place.it);
      } catch (error) {
        // What fails on the CPU too is no fault of the device.
        await this.movable.handOver?.(onCpu);
        const result = await work(onCpu);
        this.#lose(place.gpu, error);
        return result;
      }
    });
  }

  free(): void {
    this.#isFreed = true;
    this.movable.onCpu.free();
    this.#onGpu?.it.free();
    this.#onGpu = undefined;
  }

  /** A device can be lost at any time: the CPU goes on until there is another. */
  #lose(gpu: Gpu, error: unknown): void {
    this.#onGpu = undefined;
    this.#losses++;
    this.onDevice({ ...CPU, reason: `WebGPU stopped: ${messageOf(error)}` });
    if (this.#losses < MOST_LOSSES) this.moveInBackground(reopenGpu(gpu));
  }

  /** One task after the other: nothing moves in the middle of some work. */
  #inTurn<R>(task: () => Promise<R>): Promise<R> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }
}
