// The list of objectives, as core describes them.
import type { Variant } from "./setting.js";

/** A parameter of an objective. */
export interface ListedParameter {
  readonly name: string;
  /** Its symbol in formulas, where that is not the name. */
  readonly symbol?: string;
  readonly kind: "number" | "integer" | "flag" | "choice" | "kernel" | "structured";
  /** Its range of values, in words. */
  readonly range: string;
  readonly default: unknown;
  readonly meaning: string;
  /** The meaning of `null`, where it is a value. */
  readonly null?: string;
  /** The only form that reads it; all do if there is none. */
  readonly form?: string;
  /** The names to choose from, of a choice. */
  readonly names?: readonly string[];
  /** The kernels to choose from, with the settings that each reads. */
  readonly kernels?: readonly ListedKernel[];
  /** The numbers that are worth trying, and the one to start with. */
  readonly slider?: {
    readonly low: number;
    readonly high: number;
    readonly start: number;
    readonly scale: "linear" | "logarithmic" | "integers";
  };
}

/** A kernel of conditioning values. */
export interface ListedKernel {
  readonly name: string;
  /** The name for people. */
  readonly title: string;
  readonly settings: readonly string[];
}

/** An input of an objective beside the views. */
export interface ListedInput {
  readonly name: string;
  /** `host` and `rows` are rows of numbers; the others are an integer for each sample. */
  readonly kind: "embeddings" | "rows" | "integers" | "clusters" | "host";
  readonly shape: string;
  readonly meaning: string;
}

/** A form of an objective, with what it sets beside its formula. */
export interface ListedForm {
  readonly name: Variant;
  /** The difference from the other forms. */
  readonly meaning: string;
  /** Parameters with their defaults in this form, where these depend on it. */
  readonly defaults: Readonly<Record<string, number>>;
  /** True if the ridge of its weights is `lambda` times the number of samples. */
  readonly ridgeGrows: boolean;
  /** The weights that it uses, by the name under which `weigh` returns them; absent without a kernel. */
  readonly weights?: "paper" | "released" | "normalised";
}

/** An objective as `LossLab.objectives` lists it. */
export type ListedObjective = {
  readonly name: string;
  /** The name for people. */
  readonly title: string;
  /** The loss as text. */
  readonly formula: string;
  /**
   * The loss as MathML, an element `math` for each line, under each variant (`null` where there is one form). Rows of class
   * `attract` pull points together, rows of class `repel` push them apart.
   */
  readonly equations: readonly { readonly variant: string | null; readonly lines: readonly string[] }[];
  /** The meaning of the symbols in it that are no parameters. */
  readonly symbols: string;
  /** The networks that make its inputs: `one`, or the name of the further ones. */
  readonly networks: string;
} & (
  | {
      /** The names of its parameters. */
      readonly parameters: readonly string[];
      /** Its parameters, with ranges and defaults. */
      readonly parameterDetails: readonly ListedParameter[];
      /** Those that make a difference where all parameters are given, the default one first. */
      readonly variants: readonly Variant[];
      /** The one that it takes by itself; `null` where there is one form. */
      readonly variant: Variant | null;
      /** All of its variants, the default one first; none where there is one form. */
      readonly forms: readonly ListedForm[];
      /** Those of `z`, `labels` and `bias` that it requires. */
      readonly inputs: readonly string[];
      /** Those inputs, with kinds and shapes. */
      readonly inputDetails: readonly ListedInput[];
      /** Source in PyTorch, whose last function, of the objective's name with `_` for `-`, is the same loss. */
      readonly pytorch: string | null;
      /** True if its labels are clusters. */
      readonly hasClusters: boolean;
    }
  | {
      /** The reason why two views with `z`, `labels` and `bias` are not enough for it. */
      readonly refusal: string;
    }
);
