// The objectives that the lab offers, with the settings that each of them has.
import type { LossLabOptions } from "simile-web";

/** What the sliders say. */
export interface Settings {
  readonly temperature: number;
  readonly lambda: number;
  readonly sigma: number;
  readonly beta: number;
}

interface Objective {
  readonly title: string;
  /** The settings that it has. */
  readonly uses: readonly (keyof Settings)[];
  options(settings: Settings): LossLabOptions;
}

const conditional = (objective: string) => ({ temperature, lambda, sigma }: Settings): LossLabOptions => ({
  objective,
  temperature,
  lambda,
  kernel: { name: "rbf", sigma },
});

export const OBJECTIVES = {
  "nt-xent": {
    title: "InfoNCE (NT-Xent)",
    uses: ["temperature"],
    options: ({ temperature }) => ({ objective: "nt-xent", temperature }),
  },
  "fair-cclk": {
    title: "Fair-CCLK",
    uses: ["temperature", "lambda", "sigma"],
    options: conditional("fair-cclk"),
  },
  "weaksup-cclk": {
    title: "WeakSup-CCLK",
    uses: ["temperature", "lambda", "sigma"],
    options: conditional("weaksup-cclk"),
  },
  hcl: {
    title: "Hard negatives (HCL)",
    uses: ["temperature", "beta"],
    options: ({ temperature, beta }) => ({ objective: "hcl", temperature, params: { beta } }),
  },
  "decoupled-uniformity": {
    title: "Decoupled Uniformity",
    uses: [],
    options: () => ({ objective: "decoupled-uniformity" }),
  },
  "align-uniform": {
    title: "Alignment and uniformity",
    uses: [],
    options: () => ({ objective: "align-uniform" }),
  },
} as const satisfies Record<string, Objective>;

export type ObjectiveName = keyof typeof OBJECTIVES;

/** A comparison that shows one thing. */
export interface Preset {
  readonly title: string;
  readonly story: string;
  readonly left: ObjectiveName;
  readonly right: ObjectiveName;
  readonly settings: Settings;
}

export const PRESETS: readonly Preset[] = [
  {
    title: "Set a colour aside",
    story:
      "Fair-CCLK pushes a point away from points of like colour only. Run both: under InfoNCE neighbours keep like colours, under Fair-CCLK the colours mix, and alignment is as good.",
    left: "nt-xent",
    right: "fair-cclk",
    settings: { temperature: 0.2, lambda: 0.01, sigma: 0.5, beta: 1 },
  },
  {
    title: "Let colours attract",
    story:
      "WeakSup-CCLK takes points of like colour for positives. Run both: its neighbours end with nearly the same hue.",
    left: "nt-xent",
    right: "weaksup-cclk",
    settings: { temperature: 0.2, lambda: 0.01, sigma: 0.5, beta: 1 },
  },
  {
    title: "Mind the nearest",
    story:
      "With β above 0, HCL gives near negatives more weight than their similarity alone would. Compare the arrows where points crowd, and move β.",
    left: "nt-xent",
    right: "hcl",
    settings: { temperature: 0.5, lambda: 0.01, sigma: 0.5, beta: 2 },
  },
  {
    title: "Decouple the pair",
    story:
      "Decoupled Uniformity spreads the middles of the pairs and leaves out the push of a sample against itself: drag two views of one sample apart, and see which objective pulls them together.",
    left: "nt-xent",
    right: "decoupled-uniformity",
    settings: { temperature: 0.5, lambda: 0.01, sigma: 0.5, beta: 1 },
  },
];
