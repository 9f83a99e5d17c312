import type { DeviceChoice, DeviceInfo, Vectors, WarningKind } from "../shared/protocol.js";
import { type CallOptions, signalOf } from "./call-options.js";
import type { ListedObjective } from "./catalogue.js";
import { Connection, CurrentDevice } from "./connection.js";
import { checkDevice, checkInteger, checkKeys, inWords, isTyped } from "./options.js";
import {
  checkObjective,
  type Conditioning,
  type GivenRows,
  type Inputs,
  type Numbers,
  requestOf,
  type Rows,
  SETTING,
  type Setting,
  weightsOf,
} from "./setting.js";

/** An objective and the device on which to evaluate it. */
export interface LossLabOptions extends Setting {
  /** Default: `auto`, which selects the CPU: batches of points are too small for a GPU. */
  readonly device?: DeviceChoice;
  /** Called when the lab moves to another device: to the CPU if WebGPU is lost, and back once it is there again. */
  readonly onDevice?: (device: DeviceInfo) => void;
  /** Compute in a separate worker. Default: `true`. */
  readonly worker?: boolean;
}

const OPTIONS = { ...SETTING, device: true, onDevice: true, worker: true } satisfies Record<keyof LossLabOptions, true>;

/** The result of an objective. */
export interface Evaluation {
  readonly loss: number;
  /** Gradient with respect to the first view, as given. */
  readonly gradA: Rows;
  /** Gradient with respect to the second view, as given. */
  readonly gradB: Rows;
  /** Gradients by the name of the input, those of the views among them. */
  readonly gradients: Readonly<Record<string, Rows>>;
  /**
   * Weights between the samples, where the objective reports them: `W` of the printed forms with a kernel, the difficulties of
   * `wcl-weighted-*`. `weigh` returns those of every form.
   */
  readonly weights?: Rows;
  /** Further outputs, by name. */
  readonly aux: Readonly<Record<string, unknown>>;
  /**
   * Reasons why the result is meaningless though it is finite, such as a kernel that is too narrow for `z`; mostly none.
   */
  readonly warnings: readonly string[];
  /** The kind of each of `warnings`. */
  readonly warningKinds: readonly WarningKind[];
}

/** A loss and its gradients, without further outputs. */
export interface Differentiation {
  readonly loss: number;
  /** Gradient with respect to the first view, as given. */
  readonly gradA: Vectors;
  /** Gradient with respect to the second view, as given. */
  readonly gradB: Vectors;
}

/** The matrices of the conditioning variable of a batch, one row and one column for each sample. */
export interface SampleWeights {
  /** The Gram matrix `K` of the kernel. */
  readonly gram: Rows;
  /** `(K + lambda I)^-1 K`, as printed. */
  readonly paper: Rows;
  /**
   * As released: computed from `K` with a diagonal of 1, with the diagonal and small entries set to 0, not
   * renormalised.
   */
  readonly released: Rows;
  /** As Simile recommends: negative entries and the diagonal set to 0, rows of sum 1. */
  readonly normalised: Rows;
  /** Condition number of `K + lambda I` (with a diagonal of `K` of 1). */
  readonly condition: number;
}

/** Throws unless two views are matrices of one shape with a number for each place. */
function checkShapes(viewA: Vectors, viewB: Vectors): void {
  for (const [name, view] of Object.entries({ viewA, viewB })) {
    if (!Array.isArray(view?.dims) || !view.data) {
      throw new TypeError(`${name} is ${inWords(view)}, expected { data, dims: [rows, columns] }; \`evaluate\` takes rows`);
    }
    const { data, dims } = view;
    const [rows, columns] = dims;
    if (dims.length !== 2) {
      throw new RangeError(`${name} has dims of ${dims.length} numbers, expected [rows, columns]`);
    }
    checkInteger(`the number of rows of ${name}`, rows, 1);
    checkInteger(`the number of columns of ${name}`, columns, 1);
    if (data.length !== rows * columns) {
      throw new RangeError(`${name} of ${rows} x ${columns} needs ${rows * columns} numbers, and ${data.length} are given`);
    }
    checkNumbers(`the data of ${name}`, data);
  }
  if (viewA.dims.join() !== viewB.dims.join()) {
    throw new RangeError(`viewB has ${viewB.dims.join(" x ")} numbers, expected ${viewA.dims.join(" x ")} as viewA has`);
  }
}

/** Throws unless data are numbers: WebAssembly takes `null` for 0, and a text for its digits. */
function checkNumbers(name: string, data: unknown): void {
  if (isTyped(data)) return;
  if (!Array.isArray(data)) throw new TypeError(`${name} is ${inWords(data)}, expected a Float32Array`);
  const wrong = Array.from(data).findIndex((value) => typeof value !== "number");
  if (wrong >= 0) throw new TypeError(`${name} is ${inWords(data[wrong])} at ${wrong}, expected numbers`);
}

/** An evaluation as serialised by core. */
interface Document {
  readonly loss: number;
  readonly grads: Readonly<Record<string, Rows>>;
  readonly aux?: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
  readonly warningKinds: readonly WarningKind[];
}

/**
 * A contrastive objective with its gradient.
 *
 * ```js
 * const lab = await LossLab.create({ objective: "info-nce", temperature: 0.5 });
 * const { loss, gradA } = await lab.evaluate(viewA, viewB);
 * ```
 */
export class LossLab {
  readonly #connection: Connection;
  readonly #device: CurrentDevice;
  #setting: Setting;

  private constructor(connection: Connection, device: CurrentDevice, setting: Setting) {
    this.#device = device;
    this.#connection = connection;
    this.#setting = setting;
  }

  /** Prepares an objective; a name or a parameter that it does not know is reported by the first evaluation. */
  static async create(options: LossLabOptions): Promise<LossLab> {
    checkKeys("the options of a LossLab", options, OPTIONS);
    const { device = "auto", onDevice, worker = true, ...setting } = options;
    checkObjective(setting);
    checkDevice(device);
    const connection = await Connection.open({ worker });
    try {
      const opened = await connection.call("openLab", { device });
      return new LossLab(connection, new CurrentDevice(connection, opened.device, onDevice), setting);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** The device that computes now. */
  get device(): DeviceInfo {
    return this.#device.info;
  }

  /** Sets another objective, or other parameters, for later evaluations. */
  configure(setting: Setting): void {
    checkKeys("the settings of a LossLab", setting, SETTING);
    checkObjective(setting);
    this.#setting = setting;
  }

  /** Loss and gradients of two views of the same samples, `[b, d]` each. */
  async evaluate(
    viewA: GivenRows,
    viewB: GivenRows,
    inputs: Inputs = {},
    options: CallOptions = {},
  ): Promise<Evaluation> {
    const document = requestOf(this.#setting, [viewA, viewB], inputs);
    const answer = await this.#ask<Document>("evaluate", document, signalOf(options));
    const { loss, grads: gradients, aux = {}, warnings, warningKinds } = answer;
    const weights = (aux["W"] ?? aux["weights"]) as Rows | undefined;
    const [gradA, gradB] = [gradients["view_a"] ?? [], gradients["view_b"] ?? []];
    return { loss, gradA, gradB, gradients, aux, warnings, warningKinds, ...(weights && { weights }) };
  }

  /** Loss and gradients as flat arrays, without further outputs: several times as quick. */
  async differentiate(
    viewA: Vectors,
    viewB: Vectors,
    inputs: Inputs = {},
    options: CallOptions = {},
  ): Promise<Differentiation> {
    checkShapes(viewA, viewB);
    // The clone of an array that is a part of a larger one would have all of that.
    const [a, b] = [new Float32Array(viewA.data), new Float32Array(viewB.data)];
    const call = {
      document: requestOf(this.#setting, undefined, inputs),
      viewA: { data: a, dims: viewA.dims },
      viewB: { data: b, dims: viewB.dims },
    };
    const sending = { signal: signalOf(options), transfer: [a.buffer, b.buffer] };
    const { loss, gradA, gradB } = await this.#connection.call("differentiate", call, sending);
    return { loss, gradA: { data: gradA, dims: viewA.dims }, gradB: { data: gradB, dims: viewB.dims } };
  }

  /**
   * The derivative of the loss with respect to the cosine of each pair of rows, the first view's and then the second's,
   * `[2 b, 2 b]`: below 0 a pair attracts, above 0 it repels. Rejects for objectives that are not functions of cosines.
   */
  async forces(viewA: GivenRows, viewB: GivenRows, inputs: Inputs = {}, options: CallOptions = {}): Promise<Rows> {
    return this.#ask<Rows>("forces", requestOf(this.#setting, [viewA, viewB], inputs), signalOf(options));
  }

  /** The Gram matrix of conditioning values, and the weights that the kernel objectives compute from it. */
  async weigh(
    z: GivenRows | Numbers,
    conditioning: Conditioning,
    options: CallOptions = {},
  ): Promise<SampleWeights> {
    const { aux = {} } = await this.#ask<Document>("evaluate", weightsOf(z, conditioning), signalOf(options));
    const matrix = (name: string) => aux[name] as Rows;
    const [gram, paper, released] = [matrix("K"), matrix("W_paper"), matrix("W_released")];
    return {
      gram,
      paper,
      released,
      normalised: matrix("W_normalised"),
      condition: aux["cond_K_plus_lambda"] as number,
    };
  }

  /** Every objective, with its parameters, variants and inputs. */
  async objectives(options: CallOptions = {}): Promise<readonly ListedObjective[]> {
    const answer = await this.#connection.call("listObjectives", {}, { signal: signalOf(options) });
    return JSON.parse(answer.document) as readonly ListedObjective[];
  }

  /** Stops the worker. */
  dispose(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  async #ask<Answer>(method: "evaluate" | "forces", document: string, signal?: AbortSignal): Promise<Answer> {
    const answer = await this.#connection.call(method, { document }, { signal });
    return JSON.parse(answer.document) as Answer;
  }
}
