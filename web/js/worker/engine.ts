// The engine in the worker: one WebAssembly instance for each device, and on them an encoder, a lab or a run. It
// handles one call after the other.
import { bundle } from "../shared/bundle.js";
import { joined } from "../shared/bytes.js";
import type { DeviceInfo, Method, Methods, Pictures, Vectors } from "../shared/protocol.js";
import * as cpu from "../generated/cpu.js";
import { Embedding } from "./embedding.js";
import { Evaluating } from "./evaluating.js";
import { pixelsOf } from "./pixels.js";
import { Training } from "./training.js";

/** One handler for each method: the input of the call, and a function that is true once the call was cancelled. */
type Handlers = {
  [M in Method]: (input: Methods[M]["input"], isCancelled: () => boolean) => Promise<Methods[M]["output"]>;
};

/** Computes for one page object. */
export class Engine implements Handlers {
  readonly #ready: Promise<unknown>;
  readonly #onDevice: (device: DeviceInfo) => void;
  #embedding: Embedding | undefined;
  #evaluating: Evaluating | undefined;
  #training: Training | undefined;

  constructor(onDevice: (device: DeviceInfo) => void) {
    this.#onDevice = onDevice;
    this.#ready = bundle("cpu").then((compiled) => cpu.default({ module_or_path: compiled }));
    // The first call reports a failure; this handler prevents an unhandled rejection until then.
    this.#ready.catch(() => {});
  }

  async call<M extends Method>(
    method: M,
    input: Methods[M]["input"],
    isCancelled: () => boolean,
  ): Promise<Methods[M]["output"]> {
    await this.#ready;
    // The page may have taken the call back while the bundle was on its way.
    if (isCancelled()) throw new Error("the call was taken back");
    return (this as Handlers)[method](input, isCancelled);
  }

  async loadEncoder({
    checkpoint,
    device,
  }: Methods["loadEncoder"]["input"]): Promise<Methods["loadEncoder"]["output"]> {
    this.#embedding?.free();
    this.#embedding = new Embedding(checkpoint, this.#onDevice);
    return { info: this.#embedding.info, device: await this.#embedding.choose(device) };
  }

  async embed(input: Pictures, isCancelled: () => boolean): Promise<Vectors> {
    if (!this.#embedding) throw new Error("no encoder was loaded");
    return this.#embedding.embed(input, isCancelled);
  }

  async drawDigits({ count, seed }: Methods["drawDigits"]["input"]): Promise<Methods["drawDigits"]["output"]> {
    const digits = cpu.draw_digits(count, seed);
    // Not `using`: esbuild's substitute for it throws where the browser has no `Symbol.dispose`, such as Safari.
    try {
      const { width, height, pixels, labels, backgrounds } = digits;
      return { width, height, pixels, labels, backgrounds, grounds: backgrounds };
    } finally {
      digits.free();
    }
  }

  async openLab({ device }: Methods["openLab"]["input"]): Promise<Methods["openLab"]["output"]> {
    this.#evaluating?.free();
    this.#evaluating = new Evaluating(this.#onDevice);
    return { device: await this.#evaluating.choose(device) };
  }

  async evaluate({ document }: Methods["evaluate"]["input"]): Promise<Methods["evaluate"]["output"]> {
    return { document: await this.#openedLab().evaluate(document) };
  }

  async forces({ document }: Methods["forces"]["input"]): Promise<Methods["forces"]["output"]> {
    return { document: await this.#openedLab().forces(document) };
  }

  async differentiate(input: Methods["differentiate"]["input"]): Promise<Methods["differentiate"]["output"]> {
    return this.#openedLab().differentiate(input);
  }

  async fitToTrain({ pictures }: Methods["fitToTrain"]["input"]): Promise<Methods["fitToTrain"]["output"]> {
    const fitted = pictures.map((picture) => {
      const { data, width, height } = pixelsOf(picture);
      return cpu.fit_to_train(data as unknown as Uint8Array, width, height);
    });
    return { pixels: joined(fitted, (length) => new Uint8Array(length)) };
  }

  async openTrainer(input: Methods["openTrainer"]["input"]): Promise<Methods["openTrainer"]["output"]> {
    this.#training?.free();
    const { training, device } = await Training.open(input, this.#onDevice);
    this.#training = training;
    return { device, ...training.describe() };
  }

  async train({ steps }: Methods["train"]["input"], isCancelled: () => boolean): Promise<Methods["train"]["output"]> {
    return this.#openedTraining().train(steps, isCancelled);
  }

  async probe({ images }: Methods["probe"]["input"]): Promise<Methods["probe"]["output"]> {
    return this.#openedTraining().probe(images);
  }

  async writeCheckpoint(): Promise<Methods["writeCheckpoint"]["output"]> {
    return { checkpoint: await this.#openedTraining().checkpoint() };
  }

  async listObjectives(): Promise<Methods["listObjectives"]["output"]> {
    return { document: cpu.catalogue() };
  }

  #openedLab(): Evaluating {
    if (!this.#evaluating) throw new Error("no loss lab was opened");
    return this.#evaluating;
  }

  #openedTraining(): Training {
    if (!this.#training) throw new Error("no run was opened");
    return this.#training;
  }

  /** Frees the objects that earlier calls have created. */
  free(): void {
    this.#embedding?.free();
    this.#evaluating?.free();
    this.#training?.free();
    [this.#embedding, this.#evaluating, this.#training] = [undefined, undefined, undefined];
  }
}
