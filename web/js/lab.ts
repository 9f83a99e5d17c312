import { Connection } from "./connection.js";
import type { CallOptions } from "./encoder.js";
import type { DeviceChoice, DeviceInfo } from "./protocol.js";

/** A matrix: rows of numbers. */
export type Rows = readonly (readonly number[])[];

/** Which objective to evaluate, and how. */
export interface Setting {
  /** Name as in a recipe, such as `info-nce` or `fair-cclk`. */
  readonly objective: string;
  /** As printed or as released. Default: the one that the objective's documentation recommends. */
  readonly variant?: "paper" | "released";
  readonly kernel?: string | Readonly<Record<string, unknown>>;
  readonly temperature?: number;
  /** Ridge of the conditional embedding operator. */
  readonly lambda?: number;
  /** Further parameters of the objective, by name. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Which objective to evaluate, and where. */
export interface LossLabOptions extends Setting {
  /** Default: `auto`, which is the CPU: batches of points are too small for a GPU. */
  readonly device?: DeviceChoice;
  /** Whether to compute in a worker of its own. Default: `true`. */
  readonly worker?: boolean;
}

/** What an objective may want beside the two views; one entry for each row. */
export interface Inputs {
  /** Conditioning variable. */
  readonly z?: Rows;
  readonly labels?: readonly number[];
  readonly bias?: readonly number[];
  /** What else the objective asks for, by the name that its error or its documentation gives. */
  readonly others?: Readonly<Record<string, Rows | readonly number[]>>;
  /** Whether the views are unit rows, and gradients partial derivatives with respect to those. Default: `false`. */
  readonly normalised?: boolean;
}

/** What an objective gives. */
export interface Evaluation {
  readonly loss: number;
  /** Gradient with respect to the first view, as given. */
  readonly gradA: Rows;
  /** Gradient with respect to the second view, as given. */
  readonly gradB: Rows;
  /** Gradients by the name of the input, those of the views among them. */
  readonly gradients: Readonly<Record<string, Rows>>;
  /** Weights between the samples, where the objective has them. */
  readonly weights?: Rows;
  /** Further outputs, by name. */
  readonly aux: Readonly<Record<string, unknown>>;
}

/** An evaluation as core writes it. */
interface Document {
  readonly loss: number;
  readonly grads: Readonly<Record<string, Rows>>;
  readonly aux?: Readonly<Record<string, unknown>>;
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
  /** The device that computes. */
  readonly device: DeviceInfo;
  readonly #connection: Connection;
  #setting: Setting;

  private constructor(connection: Connection, device: DeviceInfo, setting: Setting) {
    this.device = device;
    this.#connection = connection;
    this.#setting = setting;
  }

  /** Prepares an objective; a name or a parameter that it does not know is reported by the first evaluation. */
  static async create(options: LossLabOptions): Promise<LossLab> {
    const { device = "auto", worker = true, ...setting } = options;
    const connection = await Connection.open(worker);
    try {
      const opened = await connection.call("openLab", { device });
      return new LossLab(connection, opened.device, setting);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Takes another objective, or other parameters, for the evaluations that follow. */
  configure(setting: Setting): void {
    this.#setting = setting;
  }

  /** Loss and gradients of two views of the same samples, `[b, d]` each. */
  async evaluate(viewA: Rows, viewB: Rows, inputs: Inputs = {}, { signal }: CallOptions = {}): Promise<Evaluation> {
    const { z, labels, bias, others, normalised = false } = inputs;
    const { objective, variant, kernel, temperature, lambda, params } = this.#setting;
    const document = JSON.stringify({
      objective,
      variant,
      params: { kernel, temperature, lambda, ...params },
      inputs: { ...others, view_a: viewA, view_b: viewB, z, labels, bias, inputs_normalised: normalised },
    });
    const answer = await this.#connection.call("evaluate", { document }, { signal });
    const { loss, grads: gradients, aux = {} } = JSON.parse(answer.document) as Document;
    const weights = (aux["W"] ?? aux["weights"]) as Rows | undefined;
    const [gradA, gradB] = [gradients["view_a"] ?? [], gradients["view_b"] ?? []];
    return { loss, gradA, gradB, gradients, aux, ...(weights && { weights }) };
  }

  /** Stops the worker. */
  dispose(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
