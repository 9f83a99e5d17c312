// The images that a query is compared with: digits drawn by core's generator.
import { drawDigits } from "simile-web";
import { nearestBackground } from "./background.js";

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

  static async draw(): Promise<Gallery> {
    const { width, height, pixels, labels, backgrounds } = await drawDigits({ count: COUNT, seed: SEED });
    const size = width * height * 4;
    const data = Array.from(labels, (_, at) => {
      return new ImageData(new Uint8ClampedArray(pixels.subarray(at * size, (at + 1) * size)), width, height);
    });
    const images = await Promise.all(data.map((image) => createImageBitmap(image)));
    return new Gallery(
      images,
      data,
      labels,
      images.map((_, at) => nearestBackground(backgrounds.subarray(at * 3, at * 3 + 3))),
    );
  }
}
