// The schemes of weights from a kernel, as in core's objectives.

export const WEIGHT_SCHEMES = ["normalised", "released", "paper"] as const;
export type WeightScheme = (typeof WEIGHT_SCHEMES)[number];

export const WEIGHT_SCHEME_TITLES: Readonly<Record<WeightScheme, string>> = {
  paper: "as printed",
  released: "as released: clipped",
  normalised: "rows of sum 1 (ours)",
};

/** How the weights of a scheme are made, with the ridge as it is called. */
export function makingOf(scheme: WeightScheme, ridge: string): string {
  const weights = `(K + ${ridge}I)⁻¹K`;
  if (scheme === "paper") return weights;
  if (scheme === "normalised") return `${weights} without the own pair and what is below 0, in rows of sum 1`;
  return `${weights}, from a K with a diagonal of 1, without the own pair and what is below the clip`;
}
