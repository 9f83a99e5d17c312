// An objective with its parameters and its inputs, and their JSON for core.
import { checkFinite, checkKeys, checkNamed, checkOnce, inWords, isTyped } from "./options.js";

/** A matrix: rows of numbers. */
export type Rows = readonly (readonly number[])[];

/** Numbers in a list or in a typed array. */
export type Numbers =
  | readonly number[]
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array;

/** A matrix that is given: rows of numbers, such as the vectors of an encoder. */
export type GivenRows = readonly Numbers[];

/** The name of a kernel, or its settings with the name among them. */
export type Kernel = string | Readonly<Record<string, unknown>>;

/** A form of an objective: as printed, as released, or as Simile recommends. */
export type Variant = "paper" | "released" | "normalised";

/** An objective with its parameters. */
export interface Setting {
  /** Name as in a recipe, such as `info-nce` or `fair-cclk`. */
  readonly objective: string;
  /** As printed or as released. Default: the one that the objective's documentation recommends. */
  readonly variant?: Variant;
  /** A kernel by its name, with its default settings, or with its settings, such as `{ name: "rbf", sigma: 0.5 }`. */
  readonly kernel?: Kernel;
  readonly temperature?: number;
  /** Ridge of the weights W. */
  readonly lambda?: number;
  /** Further parameters of the objective, by name. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** The keys of a setting. */
export const SETTING = {
  objective: true,
  variant: true,
  kernel: true,
  temperature: true,
  lambda: true,
  params: true,
} satisfies Record<keyof Setting, true>;

/** Inputs of an objective beside the two views; one entry for each row. */
export interface Inputs {
  /** Conditioning variable: rows, or a number for each sample. */
  readonly z?: GivenRows | Numbers;
  readonly labels?: Numbers;
  readonly bias?: Numbers;
  /** Further inputs of the objective, by the name in its error or its documentation. */
  readonly others?: Readonly<Record<string, GivenRows | Numbers>>;
  /**
   * True if the views are unit rows; gradients are then partial derivatives with respect to those. Default: `false`.
   */
  readonly normalised?: boolean;
}

const INPUTS = { z: true, labels: true, bias: true, others: true, normalised: true } satisfies Record<
  keyof Inputs,
  true
>;

/** The kernel and the ridge that weigh samples by their conditioning values. */
export interface Conditioning {
  /** Has to be given, here or among `params`. */
  readonly kernel?: Kernel;
  /** Ridge, 0.01 by default. */
  readonly lambda?: number;
  /** Weights below this are 0 in the released ones; 1e-6 by default. */
  readonly clipThreshold?: number;
  /** Those of a setting: `kernel`, `lambda` and `clip_threshold` may be among them, and weights depend on no others. */
  readonly params?: Setting["params"];
}

/** A setting is a conditioning too, with more parameters than it has. */
const CONDITIONING = { ...SETTING, clipThreshold: true } satisfies Record<keyof (Setting & Conditioning), true>;

/** The parameters of a setting by name; throws if a number among them is not finite. */
export function parametersOf(setting: Setting): Record<string, unknown> {
  const { kernel, temperature, lambda, params } = setting;
  const own = { objective: true, variant: true, name: true, kernel, temperature, lambda };
  checkOnce("params", params, own);
  const parameters = { kernel: kernelOf(kernel), temperature, lambda, ...params };
  checkFinite(parameters);
  return parameters;
}

function kernelOf(kernel: Kernel | undefined): Exclude<Kernel, string> | undefined {
  if (typeof kernel === "string") return { name: kernel };
  checkNamed("kernel", kernel);
  return kernel;
}

/** Throws for an objective without a name. */
export function checkObjective({ objective }: Setting): void {
  if (typeof objective !== "string") {
    throw new TypeError(`objective is ${inWords(objective)}, expected a name such as "info-nce"`);
  }
}

/** The JSON document of a request, with the views or without. */
export function requestOf(setting: Setting, views: readonly GivenRows[] | undefined, userInputs: Inputs): string {
  checkKeys("the inputs", userInputs, INPUTS);
  const { z, labels, bias, others, normalised = false } = userInputs;
  const [view_a, view_b] = views ?? [];
  for (const [name, rows] of Object.entries({ view_a, view_b })) checkRows(name, rows);
  if (!isTyped(z)) checkRows("z", z);
  for (const [name, list] of Object.entries({ labels, bias })) checkList(name, list);
  const own = { view_a: true, view_b: true, z: true, labels: true, bias: true, inputs_normalised: true };
  checkOnce("others", others, own);
  const inputs = { ...others, view_a, view_b, z, labels, bias, inputs_normalised: normalised };
  checkFinite(inputs);
  const { objective, variant } = setting;
  return JSON.stringify({ objective, variant, params: parametersOf(setting), inputs }, withLists);
}

/** The JSON document of the weights of samples by their conditioning values. */
export function weightsOf(z: GivenRows | Numbers, conditioning: Conditioning): string {
  checkKeys("the options of weigh", conditioning, CONDITIONING);
  const { kernel, lambda, clipThreshold, params: further = {} } = conditioning;
  checkOnce("params", further, { kernel, lambda, clip_threshold: clipThreshold });
  if (!isTyped(z)) checkRows("z", z);
  const params = {
    kernel: kernelOf(kernel) ?? further["kernel"],
    lambda: lambda ?? further["lambda"],
    clip_threshold: clipThreshold ?? further["clip_threshold"],
  };
  checkFinite({ ...params, z });
  return JSON.stringify({ objective: "kceo-weights", params, inputs: { z } }, withLists);
}

/** Typed arrays as lists: JSON would make objects of them. */
function withLists(_: string, value: unknown): unknown {
  return isTyped(value) ? Array.from(value) : value;
}

/** Throws unless rows are a list; core names what is missing, and what in a list is no row. */
function checkRows(name: string, rows: unknown): void {
  if (rows === undefined || rows === null || Array.isArray(rows)) return;
  const isFlat = isTyped(rows) || (typeof rows === "object" && "dims" in rows);
  const remedy = isFlat ? "; `differentiate` takes numbers without rows, as { data, dims }" : "";
  throw new TypeError(`\`${name}\` is ${inWords(rows)}, expected a list of rows of numbers${remedy}`);
}

function checkList(name: string, list: unknown): void {
  if (list === undefined || list === null || Array.isArray(list) || isTyped(list)) return;
  throw new TypeError(`\`${name}\` is ${inWords(list)}, expected a list of integers`);
}
