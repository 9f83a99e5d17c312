// Digits that core drew, as images.
import type { Digits } from "simile-web";

/** An image for each digit. */
export function imagesOf({ width, height, pixels, labels }: Digits): ImageData[] {
  const size = width * height * 4;
  return Array.from(labels, (_, at) => {
    return new ImageData(new Uint8ClampedArray(pixels.subarray(at * size, (at + 1) * size)), width, height);
  });
}
