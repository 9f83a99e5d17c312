// The objectives that core offers, with readable names, and their settings.
import type { Inputs, ListedObjective, Setting } from "simile-web";
import { biases, conditions, labels, type Samples } from "./samples.js";
import { type KernelName, kernelOf, type SettingName, SETTING_NAMES, type Settings } from "./settings.js";

/** An objective that the lab can run. */
export type Offered = Extract<ListedObjective, { parameters: readonly string[] }>;

/** A chosen objective; an empty variant is the objective's own. */
export interface Choice {
  readonly objective: string;
  readonly variant: string;
}

const TITLES: Readonly<Record<string, string>> = {
  "info-nce": "InfoNCE",
  "nt-xent": "NT-Xent (SimCLR)",
  "weaksup-info-nce": "WeaklySup-InfoNCE",
  "fair-info-nce": "Fair-InfoNCE",
  dcl: "Debiased (DCL)",
  hcl: "Hard negatives (HCL)",
  "weaksup-cclk": "WeaklySup-CCLK",
  "fair-cclk": "Fair-CCLK",
  "hardneg-cclk": "HardNeg-CCLK",
  supcon: "SupCon",
  contex: "ConTeX",
  "contex-p": "ConTeX, clipped",
  biascon: "BiasCon",
  "decoupled-uniformity": "Decoupled Uniformity",
  "kernel-decoupled-uniformity": "Kernel Decoupled Uniformity",
  dc: "Decoupled contrastive (DC)",
  dclw: "Decoupled, weighted (DCLW)",
  "align-uniform": "Alignment and uniformity",
  "barlow-twins": "Barlow Twins",
};

/** Objectives that core can evaluate on two views, but whose two inputs have another meaning. */
const OTHER_MEANING: Readonly<Record<string, string>> = {
  "rebias-hsic": "its two inputs are two networks, not two views of a sample",
};

export class Catalogue {
  readonly offered: ReadonlyMap<string, Offered>;
  /** The other objectives, with the reason why they are not offered. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];

  constructor(list: readonly ListedObjective[]) {
    const isOffered = (entry: ListedObjective): entry is Offered =>
      "parameters" in entry && !(entry.name in OTHER_MEANING);
    this.offered = new Map(list.filter(isOffered).map((entry) => [entry.name, entry]));
    this.refused = list
      .filter((entry) => !isOffered(entry))
      .map((entry) => ({
        name: entry.name,
        reason: "refusal" in entry ? entry.refusal : (OTHER_MEANING[entry.name] ?? ""),
      }));
  }

  has({ objective, variant }: Choice): boolean {
    const entry = this.offered.get(objective);
    return entry !== undefined && (variant === "" || entry.variants.includes(variant));
  }

  /** The sliders that a choice reads. */
  settingsOf({ objective }: Choice): SettingName[] {
    const parameters = new Set<string>(this.offered.get(objective)?.parameters);
    return SETTING_NAMES.filter((name) => parameters.has(name === "bandwidth" ? "kernel" : name));
  }

  usesKernel({ objective }: Choice): boolean {
    return this.offered.get(objective)?.parameters.includes("kernel") ?? false;
  }

  /** The setting for the package `simile-web`. */
  settingOf({ objective, variant }: Choice, settings: Settings, kernel: KernelName): Setting {
    const used = this.settingsOf({ objective, variant }).filter((name) => name !== "bandwidth");
    const params = Object.fromEntries(used.map((name) => [name, settings[name]]));
    return {
      objective,
      ...(variant && { variant: variant as NonNullable<Setting["variant"]> }),
      ...(this.usesKernel({ objective, variant }) && { kernel: kernelOf(kernel, settings) }),
      params,
    };
  }

  /** The inputs beside the views that an objective requires. */
  inputsOf({ objective }: Choice, samples: Samples): Inputs {
    const wants = new Set(this.offered.get(objective)?.inputs);
    return {
      ...(wants.has("z") && { z: conditions(samples) }),
      ...(wants.has("labels") && { labels: labels(samples) }),
      ...(wants.has("bias") && { bias: biases(samples) }),
    };
  }
}

export function titleOf(name: string): string {
  return TITLES[name] ?? name;
}
