// The images that a query is compared with: digits drawn by core's generator.
import { drawDigits } from "simile-web";
import { BACKGROUNDS, nearestBackground } from "../background.js";
import { imagesOf } from "../digits.js";

const COUNT = 600;
const SEED = 2026;

export class Gallery {
  private constructor(
    readonly images: readonly ImageBitmap[],
    /** The input of an encoder. */
    readonly pixels: readonly ImageData[],
    /** The digit of each image. */
    readonly labels: ArrayLike<number>,
    /** The background of each image, as an index of the palette. */
    readonly backgrounds: ArrayLike<number>,
  ) {}

  /** An image in words. */
  nameOf(index: number): string {
    return `${this.labels[index]} on ${BACKGROUNDS[this.backgrounds[index] ?? 0]?.[0] ?? ""}`;
  }

  static async draw(): Promise<Gallery> {
    const digits = await drawDigits({ count: COUNT, seed: SEED });
    const { labels, backgrounds } = digits;
    const pixels = imagesOf(digits);
    const images = await Promise.all(pixels.map((image) => createImageBitmap(image)));
    return new Gallery(
      images,
      pixels,
      labels,
      images.map((_, at) => nearestBackground(backgrounds.subarray(at * 3, at * 3 + 3))),
    );
  }
}
