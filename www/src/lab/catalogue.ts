// The objectives that core offers, with readable names, and their settings.
import type {
  Conditioning,
  Inputs,
  ListedForm,
  ListedKernel,
  ListedObjective,
  ListedParameter,
  Setting,
  Variant,
} from "simile-web";
import { biases, conditions, labels, type Samples } from "./samples.js";
import { BANDWIDTH, hasControl, type Settings, valueOf } from "./settings.js";
import type { WeightScheme } from "./weight-scheme.js";

/** An objective that the lab can run. */
export type Offered = Extract<ListedObjective, { parameters: readonly string[] }>;

/** A chosen objective; an empty variant is the objective's own. */
export interface Choice {
  readonly objective: string;
  readonly variant: string;
}

/** Why an objective on the outputs of several networks is not offered: core can evaluate it on two views all the same. */
const OF_SEVERAL_NETWORKS = "its two inputs are two networks, not two views of a sample";

/** The variables of the samples, by the names of inputs. */
const VARIABLES = { z: conditions, labels, bias: biases };

export class Catalogue {
  readonly offered: ReadonlyMap<string, Offered>;
  /** The other objectives, with the reason why they are not offered. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
  /** The kernels that need no further settings. */
  readonly kernels: readonly ListedKernel[];
  /** The parameters with a control, by objective and variant. */
  readonly #parameters = new Map<string, readonly ListedParameter[]>();

  constructor(list: readonly ListedObjective[]) {
    const isOffered = (entry: ListedObjective): entry is Offered =>
      "parameters" in entry && entry.networks === "one";
    const offered = list.filter(isOffered);
    this.offered = new Map(offered.map((entry) => [entry.name, entry]));
    this.refused = list
      .filter((entry) => !isOffered(entry))
      .map((entry) => ({
        name: entry.name,
        reason: "refusal" in entry ? entry.refusal : OF_SEVERAL_NETWORKS,
      }));
    for (const entry of offered) {
      for (const variant of ["", ...entry.variants]) {
        this.#parameters.set(keyOf({ objective: entry.name, variant }), controlled(entry, variant));
      }
    }
    const details = offered.flatMap(({ parameterDetails }) => parameterDetails);
    const kernels = details.find(({ kind }) => kind === "kernel")?.kernels ?? [];
    this.kernels = kernels.filter(({ settings }) => !settings.includes("factors"));
  }

  has({ objective, variant }: Choice): boolean {
    const entry = this.offered.get(objective);
    return entry !== undefined && (variant === "" || formNamed(entry, variant) !== undefined);
  }

  /** The parameters of a choice that have a control, with the values of its form. */
  parametersOf(choice: Choice): readonly ListedParameter[] {
    return this.#parameters.get(keyOf(choice)) ?? [];
  }

  /** All parameters with a control, one of each name. */
  get parameters(): ListedParameter[] {
    const all = [...this.#parameters.values()].flat();
    return [...new Map(all.reverse().map((parameter) => [parameter.name, parameter])).values()];
  }

  /** The parameters with a control of two choices, one of each name: that of the first choice which has it. */
  controlsOf(choices: readonly Choice[], kernel: string): ListedParameter[] {
    const all = choices.flatMap((choice) => this.parametersOf(choice));
    const isUsed = (parameter: ListedParameter) => parameter !== BANDWIDTH || this.hasBandwidth(kernel);
    return all.filter((one, at) => isUsed(one) && all.findIndex(({ name }) => name === one.name) === at);
  }

  /**
   * Settings with a value for every control of two choices, in the order of their names; without those whose value depends on
   * the form until the visitor sets one.
   */
  complete(choices: readonly Choice[], kernel: string, settings: Settings): Settings {
    const ofBoth = this.controlsOf(choices, kernel).filter((one) => one.default !== null);
    const values = ofBoth.map((one) => [one.name, valueOf(one, settings)] as const);
    return Object.fromEntries(Object.entries({ ...settings, ...Object.fromEntries(values) }).sort());
  }

  usesKernel({ objective }: Choice): boolean {
    return this.offered.get(objective)?.parameterDetails.some(({ kind }) => kind === "kernel") ?? false;
  }

  /** True if the kernel compares the points: that of an objective without a condition. */
  comparesPoints(choice: Choice): boolean {
    return this.usesKernel(choice) && !this.offered.get(choice.objective)?.inputs.includes("z");
  }

  /** The weights that a choice with a kernel uses: as they come from the kernel, unless its form states others. */
  weightSchemeOf(choice: Choice): WeightScheme {
    return this.#formOf(choice)?.weights ?? "paper";
  }

  /** True if the ridge of the weights of a choice is `lambda` times the number of samples. */
  ridgeGrows(choice: Choice): boolean {
    return this.#formOf(choice)?.ridgeGrows ?? false;
  }

  /** The difference of a form from the others; `undefined` for an objective without a choice of forms. */
  differenceOf({ objective, variant }: Choice): string | undefined {
    const entry = this.offered.get(objective);
    return entry && entry.variants.length > 0 ? formOf(entry, variant)?.meaning : undefined;
  }

  /** The weights that a choice with a kernel takes of so many samples. */
  conditioningOf(choice: Choice, settings: Settings, kernel: string, samples: number): Conditioning {
    const { params = {} } = this.settingOf(choice, settings, kernel);
    const { lambda, clip_threshold } = params;
    return {
      kernel: this.kernelOf(kernel, settings),
      lambda: Number(lambda) * (this.ridgeGrows(choice) ? samples : 1),
      ...(clip_threshold !== undefined && { clipThreshold: Number(clip_threshold) }),
    };
  }

  /** True if a kernel has a bandwidth. */
  hasBandwidth(kernel: string): boolean {
    return this.kernels.some(({ name, settings }) => name === kernel && settings.includes("sigma"));
  }

  /** A kernel as core reads it. */
  kernelOf(name: string, settings: Settings): Record<string, unknown> {
    return this.hasBandwidth(name) ? { name, sigma: valueOf(BANDWIDTH, settings) } : { name };
  }

  /** The setting for the package `simile-web`. */
  settingOf({ objective, variant }: Choice, settings: Settings, kernel: string): Setting {
    const own = this.parametersOf({ objective, variant }).filter((parameter) => parameter !== BANDWIDTH);
    const entry = this.offered.get(objective);
    const form = entry && formNamed(entry, variant);
    return {
      objective,
      ...(form && { variant: form }),
      ...(this.usesKernel({ objective, variant }) && { kernel: this.kernelOf(kernel, settings) }),
      params: Object.fromEntries(own.map((parameter) => [parameter.name, valueOf(parameter, settings)])),
    };
  }

  /** The inputs beside the views that an objective requires. */
  inputsOf({ objective }: Choice, samples: Samples): Inputs {
    const wants = this.offered.get(objective)?.inputs ?? [];
    const variables = Object.entries(VARIABLES).filter(([name]) => wants.includes(name));
    return Object.fromEntries(variables.map(([name, of]) => [name, of(samples)]));
  }

  #formOf({ objective, variant }: Choice): ListedForm | undefined {
    const entry = this.offered.get(objective);
    return entry && formOf(entry, variant);
  }
}

function keyOf({ objective, variant }: Choice): string {
  return `${objective}.${variant}`;
}

/** The variant of that name that can be chosen. */
function formNamed({ variants }: Offered, name: string): Variant | undefined {
  return variants.find((variant) => variant === name);
}

/** The form of an objective that a variant names, its own where that is empty; none where it has one form. */
function formOf({ forms }: Offered, variant: string): ListedForm | undefined {
  return forms.find(({ name }) => name === variant) ?? forms[0];
}

/** The parameters of a form that have a control. Each is the same object at every call, by which controls know theirs. */
function controlled(entry: Offered, variant: string): ListedParameter[] {
  const { parameterDetails, variants } = entry;
  const defaults = formOf(entry, variant)?.defaults ?? {};
  const form = variant || variants[0];
  const isRead = (parameter: ListedParameter) => parameter.form === undefined || parameter.form === form;
  return parameterDetails.filter(isRead).flatMap((parameter) => {
    if (parameter.kind === "kernel") return [BANDWIDTH];
    if (!hasControl(parameter)) return [];
    const { name, slider } = parameter;
    const start = defaults[name];
    return [start === undefined || !slider ? parameter : { ...parameter, slider: { ...slider, start } }];
  });
}
