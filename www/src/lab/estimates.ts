// The estimates of weights from a kernel, as in core's objectives.

export const ESTIMATES = ["normalised", "released", "paper"] as const;
export type Estimate = (typeof ESTIMATES)[number];

export const ESTIMATE_TITLES: Readonly<Record<Estimate, string>> = {
  paper: "as printed",
  released: "as released: clipped",
  normalised: "rows of sum 1 (ours)",
};

/** The weights that a variant of a kernel objective uses; the default is the normalised ones. */
export function estimateOf(variant: string): Estimate {
  return ESTIMATES.find((name) => name === variant) ?? "normalised";
}
