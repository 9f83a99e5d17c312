// The backgrounds of the digits: the palette that core draws from, in the order of the rainbow.

/** Name and colour. */
export const BACKGROUNDS = [
  ["orange", "#ff7f0e"],
  ["red", "#d62728"],
  ["pink", "#e377c2"],
  ["purple", "#9467bd"],
  ["blue", "#1f77b4"],
  ["cyan", "#17becf"],
  ["green", "#2ca02c"],
  ["olive", "#bcbd22"],
  ["brown", "#8c564b"],
  ["grey", "#7f7f7f"],
] as const;

/** The colours as numbers of RGB. */
export const PALETTE = BACKGROUNDS.map(([, colour]) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)));

/** The background of the palette nearest to a colour. */
export function nearestBackground(colour: ArrayLike<number>): number {
  const distances = PALETTE.map((background) =>
    background.reduce((sum, channel, at) => sum + (channel - (colour[at] ?? 0)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}
