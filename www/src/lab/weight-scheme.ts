// The schemes of weights from a kernel, as in core's objectives.

export const WEIGHT_SCHEMES = ["normalised", "released", "paper"] as const;
export type WeightScheme = (typeof WEIGHT_SCHEMES)[number];

export const WEIGHT_SCHEME_TITLES: Readonly<Record<WeightScheme, string>> = {
  paper: "as printed",
  released: "as released: clipped",
  normalised: "rows of sum 1 (ours)",
};

/** The weights that a variant of a kernel objective uses; the default is the normalised ones. */
export function weightSchemeOf(variant: string): WeightScheme {
  return WEIGHT_SCHEMES.find((name) => name === variant) ?? "normalised";
}
