// The images that a query is compared with: digits drawn by core's generator, and their embeddings.
import { drawDigits, type Encoder } from "simile-web";

const COUNT = 240;
const SEED = 2026;

/** An image of the gallery beside the query. */
export interface Neighbour {
  readonly index: number;
  /** Cosine of the angle between the two embeddings. */
  readonly similarity: number;
}

export class Gallery {
  /** Unit vectors, one for each image. */
  vectors: readonly Float32Array[] = [];

  private constructor(
    readonly images: readonly ImageBitmap[],
    readonly labels: Uint8Array,
    private readonly pixels: readonly ImageData[],
  ) {}

  static async draw(): Promise<Gallery> {
    const { width, height, pixels, labels } = await drawDigits({ count: COUNT, seed: SEED });
    const size = width * height * 4;
    const data = Array.from(labels, (_, at) => {
      return new ImageData(new Uint8ClampedArray(pixels.subarray(at * size, (at + 1) * size)), width, height);
    });
    return new Gallery(await Promise.all(data.map((image) => createImageBitmap(image))), labels, data);
  }

  async embedWith(encoder: Encoder): Promise<void> {
    const { data, dims } = await encoder.embedBatch(this.pixels);
    const [, length] = dims;
    this.vectors = this.images.map((_, at) => unit(data.subarray(at * length, (at + 1) * length)));
  }

  /** The nearest images, nearest first. */
  nearest(vector: Float32Array, count: number): Neighbour[] {
    const query = unit(vector);
    return this.vectors
      .map((other, index) => ({ index, similarity: dot(query, other) }))
      .sort((a, b) => b.similarity - a.similarity)
      .slice(0, count);
  }
}

/** The vector divided by its length. */
export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  return vector.map((value) => value / length);
}

/** The inner product. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
