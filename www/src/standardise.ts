// Standardises each dimension, as the trainer's probes do, so that all dimensions have equal weight.
import { unit } from "./vector.js";

/** A deviation up to this fraction of the mean is rounding, as in core: the dimension counts as constant. */
const CONSTANT = 1e-10;
/** And so does one whose deviation has no reciprocal of 32 bits. */
const SMALLEST = 1e-37;

/**
 * Maps an embedding to a unit vector, with the mean and the standard deviation of each dimension over a set of
 * embeddings.
 */
export class Standardiser {
  private constructor(
    private readonly mean: Float64Array,
    private readonly deviation: Float64Array,
  ) {}

  /** Plain loops: a callback for each of millions of numbers would make a noticeable pause. */
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
      // A constant dimension carries no information and becomes 0.
      return spread > Math.max(CONSTANT * Math.abs(mean[at] ?? 0), SMALLEST) ? spread : Number.POSITIVE_INFINITY;
    });
    return new Standardiser(mean, deviation);
  }

  apply(vector: Float32Array): Float32Array {
    return unit(vector.map((value, at) => (value - (this.mean[at] ?? 0)) / (this.deviation[at] ?? 1)));
  }
}
