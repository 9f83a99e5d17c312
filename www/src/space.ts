// Images as one encoder sees them: a space in which they are compared.
import type { Steps } from "./slices.js";
import { Standardiser } from "./standardise.js";
import { dot } from "./vector.js";

/** Neighbours of a query that a page shows. */
export const NEIGHBOURS = 8;

/** A neighbour of the query. */
export interface Neighbour {
  readonly index: number;
  /** Cosine of the angle between the two embeddings, standardised. */
  readonly similarity: number;
}

export class Space {
  private constructor(
    private readonly standardiser: Standardiser,
    /** The embedding of each image, standardised, of length 1. */
    readonly vectors: readonly Float32Array[],
  ) {}

  static *fit(embeddings: readonly Float32Array[]): Steps<Space> {
    const standardiser = Standardiser.fit(embeddings);
    const vectors: Float32Array[] = [];
    for (const embedding of embeddings) {
      vectors.push(standardiser.apply(embedding));
      yield;
    }
    return new Space(standardiser, vectors);
  }

  /** Standardises an embedding for comparison with the others. */
  place(embedding: Float32Array): Float32Array {
    return this.standardiser.apply(embedding);
  }

  /** The images nearest to a placed embedding, nearest first. */
  nearest(query: Float32Array, count: number): Neighbour[] {
    return this.vectors
      .map((other, index) => ({ index, similarity: dot(query, other) }))
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, count);
  }
}
