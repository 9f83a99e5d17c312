// Numbers that vary little count as much as those that vary much, as in the trainer's probes.
import { unit } from "./vector.js";

/** What rounding alone can make a number deviate from its mean, as a share of the mean. */
const ROUNDING = 1e-6;

/** From an embedding to a unit vector, by the mean and the deviation of each number over a set of embeddings. */
export class Standardiser {
  private constructor(
    private readonly mean: Float64Array,
    private readonly deviation: Float64Array,
  ) {}

  /** Plain loops: a callback for each of millions of numbers is a pause that one feels. */
  static fit(vectors: readonly Float32Array[]): Standardiser {
    const size = vectors[0]?.length ?? 0;
    const mean = new Float64Array(size);
    for (const vector of vectors) {
      for (let at = 0; at < size; at++) mean[at] = (mean[at] ?? 0) + (vector[at] ?? 0) / vectors.length;
    }
    const variance = new Float64Array(size);
    for (const vector of vectors) {
      for (let at = 0; at < size; at++) {
        variance[at] = (variance[at] ?? 0) + ((vector[at] ?? 0) - (mean[at] ?? 0)) ** 2 / vectors.length;
      }
    }
    const deviation = variance.map((value, at) => {
      const spread = Math.sqrt(value);
      // A number that never varies says nothing.
      return spread > ROUNDING * Math.abs(mean[at] ?? 0) ? spread : Number.POSITIVE_INFINITY;
    });
    return new Standardiser(mean, deviation);
  }

  apply(vector: Float32Array): Float32Array {
    return unit(vector.map((value, at) => (value - (this.mean[at] ?? 0)) / (this.deviation[at] ?? 1)));
  }
}
