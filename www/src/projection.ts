// The two main directions of a set of vectors, by power iteration on their covariance.
import { dot, unit } from "./vector.js";

const ITERATIONS = 60;

/** A map from vectors to the plane of the two main directions. */
export class Projection {
  private constructor(
    private readonly mean: Float32Array,
    /** Unit vectors, the direction of most variance first. */
    readonly axes: readonly [Float32Array, Float32Array],
  ) {}

  static fit(vectors: readonly Float32Array[]): Projection {
    const size = vectors[0]?.length ?? 0;
    const mean = new Float32Array(size);
    for (const vector of vectors) add(mean, vector, 1 / vectors.length);

    const covariance = Array.from({ length: size }, () => new Float32Array(size));
    for (const vector of vectors) {
      const centred = subtract(vector, mean);
      covariance.forEach((row, at) => add(row, centred, centred[at] ?? 0));
    }
    const first = mainDirection(covariance);
    // Without its main direction, the next is the main one.
    const along = dot(times(covariance, first), first);
    covariance.forEach((row, at) => add(row, first, -along * (first[at] ?? 0)));
    return new Projection(mean, [first, mainDirection(covariance)]);
  }

  project(vector: Float32Array): readonly [x: number, y: number] {
    const centred = subtract(vector, this.mean);
    return [dot(centred, this.axes[0]), dot(centred, this.axes[1])];
  }
}

function mainDirection(covariance: readonly Float32Array[]): Float32Array {
  // Any start that is orthogonal to nothing in particular; a fixed one gives the same map each time.
  let direction = unit(Float32Array.from(covariance, (_, at) => Math.cos(at + 1)));
  for (let step = 0; step < ITERATIONS; step++) direction = unit(times(covariance, direction));
  return direction;
}

function times(matrix: readonly Float32Array[], vector: Float32Array): Float32Array {
  return Float32Array.from(matrix, (row) => dot(row, vector));
}

function subtract(a: Float32Array, b: Float32Array): Float32Array {
  const difference = new Float32Array(a);
  add(difference, b, -1);
  return difference;
}

/** Adds `factor` times `b` to `a`. A plain loop: a callback for each of millions of numbers is a pause that one feels. */
function add(a: Float32Array, b: Float32Array, factor: number): void {
  for (let at = 0; at < a.length; at++) a[at] = (a[at] ?? 0) + factor * (b[at] ?? 0);
}
