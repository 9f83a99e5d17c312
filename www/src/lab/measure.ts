// Measures of samples that do not depend on the objective.
import { mean, type Row, squaredDistance } from "./rows.js";
import type { Samples } from "./samples.js";

export interface Figures {
  /** Mean squared distance of the two views of a sample. */
  readonly alignment: number;
  /** Logarithm of the mean of `exp(-2 distance^2)` over all pairs of points. */
  readonly uniformity: number;
  /** Mean cosine between the hues of a point and of its nearest neighbour from another sample. */
  readonly sharedColour: number;
}

export function measure({ views: [a, b], hues }: Samples): Figures {
  const points = [...a, ...b];
  const distances = points.map((x) => points.map((y) => squaredDistance(x, y)));
  const potentials = distances.flatMap((row, i) => row.slice(i + 1).map((distance) => Math.exp(-2 * distance)));
  const sharedColour = mean(
    distances.map((row, at) => {
      const own = at % a.length;
      const nearest = nearestOther(row, own, a.length);
      return Math.cos(2 * Math.PI * ((hues[own] ?? 0) - (hues[nearest] ?? 0)));
    }),
  );
  return {
    alignment: mean(a.map((row, at) => squaredDistance(row, b[at] ?? []))),
    uniformity: Math.log(mean(potentials)),
    sharedColour,
  };
}

/** The sample of the nearest point that is not of the sample itself. */
function nearestOther(distances: Row, own: number, count: number): number {
  const others = distances.map((distance, at) => (at % count === own ? Number.POSITIVE_INFINITY : distance));
  return others.indexOf(Math.min(...others)) % count;
}
