// The two main directions of a set of vectors, by power iteration.
import type { Steps } from "./slices.js";
import { dot, unit } from "./vector.js";

const ITERATIONS = 60;

/** A map from vectors to the plane of the two main directions. */
export class Projection {
  private constructor(
    private readonly mean: Float32Array,
    /** Unit vectors, the direction of most variance first. */
    readonly axes: readonly [Float32Array, Float32Array],
  ) {}

  static *fit(vectors: readonly Float32Array[]): Steps<Projection> {
    const mean = new Float32Array(vectors[0]?.length ?? 0);
    for (const vector of vectors) add(mean, vector, 1 / vectors.length);
    const centred = vectors.map((vector) => subtract(vector, mean));
    const first = yield* mainDirection(centred);
    // After deflation of the first direction, the second is the main one.
    for (const vector of centred) add(vector, first, -dot(vector, first));
    return new Projection(mean, [first, yield* mainDirection(centred)]);
  }

  project(vector: Float32Array): readonly [x: number, y: number] {
    const centred = subtract(vector, this.mean);
    return [dot(centred, this.axes[0]), dot(centred, this.axes[1])];
  }
}

/** Power iteration without the covariance matrix, which has millions of entries for a large network. */
function* mainDirection(centred: readonly Float32Array[]): Steps<Float32Array> {
  // A fixed start gives the same map each time; it is not orthogonal to any likely direction.
  let direction = unit(Float32Array.from(centred[0] ?? [], (_, at) => Math.cos(at + 1)));
  for (let step = 0; step < ITERATIONS; step++) {
    const next = new Float32Array(direction.length);
    for (const vector of centred) add(next, vector, dot(vector, direction));
    direction = unit(next);
    yield;
  }
  return direction;
}

function subtract(a: Float32Array, b: Float32Array): Float32Array {
  const difference = new Float32Array(a);
  add(difference, b, -1);
  return difference;
}

/**
 * Adds `factor` times `b` to `a`. A plain loop: a callback for each of millions of numbers would make a noticeable
 * pause.
 */
function add(a: Float32Array, b: Float32Array, factor: number): void {
  for (let at = 0; at < a.length; at++) a[at] = (a[at] ?? 0) + factor * (b[at] ?? 0);
}
