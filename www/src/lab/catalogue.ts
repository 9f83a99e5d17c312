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

/** Why an objective on the outputs of several networks is not offered: core can evaluate it on two views all the same. */
const OF_SEVERAL_NETWORKS = "its two inputs are two networks, not two views of a sample";

export class Catalogue {
  readonly offered: ReadonlyMap<string, Offered>;
  /** The other objectives, with the reason why they are not offered. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];

  constructor(list: readonly ListedObjective[]) {
    const isOffered = (entry: ListedObjective): entry is Offered =>
      "parameters" in entry && entry.networks === "one";
    this.offered = new Map(list.filter(isOffered).map((entry) => [entry.name, entry]));
    this.refused = list
      .filter((entry) => !isOffered(entry))
      .map((entry) => ({
        name: entry.name,
        reason: "refusal" in entry ? entry.refusal : OF_SEVERAL_NETWORKS,
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
