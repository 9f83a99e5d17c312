// A gallery as one encoder sees it.
import type { Encoder } from "simile-web";
import type { Gallery } from "./gallery.js";
import { Standardiser } from "./standardise.js";
import { dot } from "./vector.js";

/** An image of the gallery beside the query. */
export interface Neighbour {
  readonly index: number;
  /** Cosine of the angle between the two embeddings, standardised. */
  readonly similarity: number;
}

/** How many of the neighbours of all images have something in common with them, as shares of 1. */
export interface Tally {
  readonly digit: number;
  readonly ground: number;
}

export class Search {
  private constructor(
    private readonly gallery: Gallery,
    private readonly standardiser: Standardiser,
    /** The embedding of each image, standardised, of length 1. */
    readonly vectors: readonly Float32Array[],
  ) {}

  static async prepare(gallery: Gallery, encoder: Encoder): Promise<Search> {
    const { data, dims } = await encoder.embedBatch(gallery.pixels);
    const [, length] = dims;
    const embeddings = gallery.images.map((_, at) => data.subarray(at * length, (at + 1) * length));
    const standardiser = Standardiser.fit(embeddings);
    return new Search(
      gallery,
      standardiser,
      embeddings.map((embedding) => standardiser.apply(embedding)),
    );
  }

  /** An embedding as it is compared with those of the gallery. */
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

  /** What the `count` nearest images of each image, itself left out, share with it. */
  tally(count: number): Tally {
    const { labels, grounds } = this.gallery;
    let digit = 0;
    let ground = 0;
    this.vectors.forEach((vector, index) => {
      const others = this.nearest(vector, count + 1).filter((other) => other.index !== index);
      for (const other of others.slice(0, count)) {
        if (labels[other.index] === labels[index]) digit++;
        if (grounds[other.index] === grounds[index]) ground++;
      }
    });
    const all = this.vectors.length * count;
    return { digit: digit / all, ground: ground / all };
  }
}
