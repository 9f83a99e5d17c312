// Numbers that vary little count as much as those that vary much, as in the trainer's probes.
import { unit } from "./vector.js";

/** From an embedding to a unit vector, by the mean and the deviation of each number over a set of embeddings. */
export class Standardiser {
  private constructor(
    private readonly mean: Float32Array,
    private readonly deviation: Float32Array,
  ) {}

  static fit(vectors: readonly Float32Array[]): Standardiser {
    const size = vectors[0]?.length ?? 0;
    const mean = new Float32Array(size);
    const deviation = new Float32Array(size);
    for (let at = 0; at < size; at++) {
      const values = vectors.map((vector) => vector[at] ?? 0);
      const average = values.reduce((sum, value) => sum + value, 0) / values.length;
      const variance = values.reduce((sum, value) => sum + (value - average) ** 2, 0) / values.length;
      mean[at] = average;
      // A number that never varies says nothing.
      deviation[at] = variance > 0 ? Math.sqrt(variance) : Number.POSITIVE_INFINITY;
    }
    return new Standardiser(mean, deviation);
  }

  apply(vector: Float32Array): Float32Array {
    return unit(vector.map((value, at) => (value - (this.mean[at] ?? 0)) / (this.deviation[at] ?? 1)));
  }
}
