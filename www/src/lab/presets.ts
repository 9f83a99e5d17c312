// Comparisons that show one effect each, with a text on what to look at.
import type { Choice } from "./catalogue.js";
import type { Settings } from "./settings.js";
import type { State } from "./state.js";
import type { WeightScheme } from "./weight-scheme.js";

export interface Preset {
  readonly title: string;
  readonly story: string;
  readonly state: State;
}

interface PresetState {
  readonly left: string;
  readonly right: string;
  readonly settings?: Settings;
  readonly colours?: State["draw"]["colours"];
  readonly dims?: number;
  readonly seed?: number;
  readonly weightScheme?: WeightScheme;
  readonly kernel?: string;
}

/** The settings of all presets, for colours on a circle of radius 1. */
const COMMON: Settings = { temperature: 0.2, lambda: 0.01, bandwidth: 0.5 };

const choice = (text: string): Choice => {
  const [objective = "", variant = ""] = text.split(".");
  return { objective, variant };
};

const state = ({
  left,
  right,
  settings,
  colours = "hues",
  dims = 2,
  seed = 1,
  weightScheme = "normalised",
  kernel = "rbf",
}: PresetState): State => ({
  draw: { seed, count: 16, dims, colours },
  choices: [choice(left), choice(right)],
  settings: { ...COMMON, ...settings },
  kernel,
  weightScheme,
});

export const PRESETS: readonly Preset[] = [
  {
    title: "Set a colour aside",
    story:
      "Fair-CCLK pushes a point away from points of like colour only. Run both: under NT-Xent neighbours keep like colours, under Fair-CCLK the colours mix.",
    state: state({ left: "nt-xent", right: "fair-cclk" }),
  },
  {
    title: "Let colours attract",
    story:
      "WeaklySup-CCLK takes points of like colour for positives. Run both: its neighbours end with nearly the same hue.",
    state: state({ left: "nt-xent", right: "weaksup-cclk" }),
  },
  {
    title: "Mind the nearest",
    story:
      "HCL gives near negatives more weight than their similarity alone would. Point at a sample and compare the red lines: on average the four strongest pushes make up four fifths of all at β = 2, and two fifths under NT-Xent. With β = 0 both sides are the same.",
    state: state({ left: "nt-xent", right: "hcl", settings: { temperature: 0.5, beta: 2, tau_plus: 0 } }),
  },
  {
    title: "Uncouple the pair",
    story:
      "In NT-Xent a pair stands in its own denominator: the two views of sample 1 lie together, and their pull is 0.32; drag them apart, and it grows to 1/bτ = 0.625, however the others lie. Decoupled Uniformity has no term for the pair. It spreads the means of the pairs, and the mean of two views is longer when the views are close: the pull is half of all the pushes, at any distance. Point at a sample to read both.",
    state: state({ left: "nt-xent", right: "decoupled-uniformity", settings: { temperature: 0.1 } }),
  },
  {
    title: "Two margins",
    story:
      "ConTeX's class term compares a positive with the other classes only. Run both: on the left it falls far below 0 and goes on pulling until each class is a point; clipped, on the right, a positive that is nearer than all other classes together pulls no more, and loss and gradient end at 0. Then lower the share: the second term compares the own pair with all other points, and on the right it spreads each class.",
    state: state({ left: "contex", right: "contex-p", settings: { temperature: 0.2, mix: 1 }, colours: "groups" }),
  },
  {
    title: "No ridge, no gradient",
    story:
      "As printed, Fair-CCLK weighs samples by (K + λI)⁻¹K. At λ = 10⁻⁵ that is nearly the identity: the denominator of a sample holds its own pair only, and the loss is log 16 = 2.773 wherever the points are. On the right the diagonal is left out and rows are made to sum to 1, so there is a gradient at any λ. Run both: the right side moves at once, the left one, whose gradient is more than 200,000 times as small, hardly at all. Raise λ to 1, and it is a tenth of that on the right. The hues of these samples lie well apart; where two are nearly equal, K is nearly singular, and λ has to be smaller still.",
    state: state({
      left: "fair-cclk.paper",
      right: "fair-cclk",
      // The seed below 1000 whose hues lie farthest apart.
      seed: 395,
      settings: { lambda: 1e-5, bandwidth: 0.15 },
      weightScheme: "paper",
    }),
  },
  {
    title: "What clipping does",
    story:
      "The released code sets weights below 10⁻⁶ to 0, nearly half of all at λ = 0.1, and does not make up for what is left. So λ scales the mass of the negatives: at λ = 100 a sample's weights on the others sum to 0.03, and the gradient on the left is about a third of that on the right, where rows sum to 1. At λ = 0.1 they sum to 0.55, and both sides are nearly alike. The map below shows the weights as released.",
    state: state({
      left: "fair-cclk.released",
      right: "fair-cclk",
      settings: { lambda: 100 },
      weightScheme: "released",
    }),
  },
  {
    title: "On a sphere",
    story:
      "Drag beside the points to turn the sphere. Run both: NT-Xent spreads the pairs over the sphere, whatever their colours; SupCon gathers each of the four colours in one place.",
    state: state({ left: "nt-xent", right: "supcon", dims: 3, colours: "groups" }),
  },
];
