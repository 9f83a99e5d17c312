// The schemes of weights from a kernel, as in core's objectives.

export const WEIGHT_SCHEMES = ["normalised", "released", "paper"] as const;
export type WeightScheme = (typeof WEIGHT_SCHEMES)[number];

export const WEIGHT_SCHEME_TITLES: Readonly<Record<WeightScheme, string>> = {
  paper: "as printed",
  released: "as released: clipped",
  normalised: "rows of sum 1 (ours)",
};

/**
 * The weights that a variant of a kernel objective uses; the default is the normalised ones. An objective that has no
 * normalised ones takes weights as they come from the kernel, in all `variants`.
 */
export function weightSchemeOf(variant: string, variants: readonly string[]): WeightScheme {
  if (!variants.includes("normalised")) return "paper";
  return WEIGHT_SCHEMES.find((name) => name === variant) ?? "normalised";
}
