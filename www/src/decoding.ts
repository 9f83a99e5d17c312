// Decodes pictures of a visitor, few of them at the same time.
import { decodeImage } from "simile-web";

/** Pixels that are decoded at the same time, four bytes each: those of the largest picture that the package decodes. */
const MOST_PIXELS = 2 ** 26;

/** Most pictures that are decoded at the same time: each may be larger than those before. */
const MOST_PICTURES = 3;

/**
 * Decodes pictures and gives each to `use`, which closes it or keeps it. The results are in the order of the pictures, and
 * `undefined` where a file holds no image, or too large a one. The size of a picture is known once it is decoded: the
 * first one is decoded alone, and the next ones are taken to be as large as the largest so far.
 */
export async function decodeEach<Result>(
  pictures: readonly (Blob | ImageData)[],
  use: (picture: ImageBitmap) => Promise<Result>,
  signal: AbortSignal,
): Promise<(Awaited<Result> | undefined)[]> {
  const results: (Awaited<Result> | undefined)[] = [];
  let largest = 1;
  const decodeOne = async (source: Blob | ImageData) => {
    try {
      const picture = await (source instanceof Blob ? decodeImage(source) : createImageBitmap(source));
      largest = Math.max(largest, picture.width * picture.height);
      return await use(picture);
    } catch {
      return undefined;
    }
  };
  while (results.length < pictures.length) {
    const fitting = results.length === 0 ? 1 : Math.max(1, Math.floor(MOST_PIXELS / largest));
    const next = pictures.slice(results.length, results.length + Math.min(fitting, MOST_PICTURES));
    results.push(...(await Promise.all(next.map(decodeOne))));
    signal.throwIfAborted();
  }
  return results;
}
