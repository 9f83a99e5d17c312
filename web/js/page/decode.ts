// Decodes the images of a page.
import type { RgbaPixels } from "../shared/protocol.js";
import { drawing, inTiles } from "../shared/tiles.js";
import { type CallOptions, signalOf } from "./call-options.js";
import { withoutExif } from "./exif.js";
import { asList, checkInteger, inWords, kindOf } from "./options.js";

/**
 * The types of images that can be embedded. Encoded ones (`Blob`, `File`, addresses) are decoded as stored, without the
 * orientation in their Exif, as by `simile embed`; elements and bitmaps are taken as they are shown. `ImageData` of another
 * colour space, or of floats, is converted to bytes of sRGB.
 */
export type ImageSource =
  | HTMLImageElement
  | HTMLVideoElement
  | HTMLCanvasElement
  | OffscreenCanvas
  | ImageBitmap
  | ImageData
  | VideoFrame
  | Blob
  | RgbaPixels
  | URL
  | string;

/**
 * Pixels of the largest picture that is decoded, 8192 x 8192, as by the command line: a small file can announce many more.
 * Several that are held at the same time have no more together, four bytes each, but for up to `MOST_AT_ONCE` larger than
 * `ASSUMED_PIXELS` that follow smaller ones.
 */
export const MOST_PIXELS = 2 ** 26;

/** Least pixels that a picture is taken to have until it is decoded. */
const ASSUMED_PIXELS = MOST_PIXELS / 4;

/** Most pictures that are decoded at the same time: each may be larger than those before. */
const MOST_AT_ONCE = 3;

/** Longest part of an address that an error repeats. */
const LONGEST_ADDRESS = 200;

/** Decodes the values as stored: no colour management and no premultiplied alpha. */
const AS_STORED: ImageBitmapOptions = { premultiplyAlpha: "none", colorSpaceConversion: "none" };

/**
 * A picture file as encoders see it, for a page that shows it: the pixels as stored, without the orientation in Exif.
 * Rejects with the name of a file that holds no picture.
 */
export function decodeImage(picture: Blob): Promise<ImageBitmap> {
  return decodeAs(picture instanceof File ? picture.webkitRelativePath || picture.name : "the picture", picture);
}

/**
 * Decodes pictures and gives each to `use`, which closes it or keeps a part of it. Few are decoded at the same time. The results
 * are in the order of the pictures, and `undefined` where a file holds no image, or too large a one. An error of `use` ends the
 * call.
 */
export async function decodeEach<Result>(
  pictures: readonly (Blob | ImageData)[],
  use: (picture: ImageBitmap) => Promise<Result>,
  options: CallOptions = {},
): Promise<(Awaited<Result> | undefined)[]> {
  const signal = signalOf(options);
  // Plain JavaScript may give the files of an input.
  if (!Array.isArray(pictures)) throw new TypeError(`pictures are no list; write ${asList(pictures, "picture")}`);
  const results: (Awaited<Result> | undefined)[] = [];
  let largest = 0;
  const decodeOne = async (source: Blob | ImageData) => {
    let picture: ImageBitmap;
    try {
      picture = await (source instanceof Blob ? decodeImage(source) : createImageBitmap(source));
    } catch {
      return undefined;
    }
    largest = Math.max(largest, picture.width * picture.height);
    return await use(picture);
  };
  while (results.length < pictures.length) {
    signal?.throwIfAborted();
    // Pixels of any size may be given as `ImageData`.
    const next = pictures.slice(results.length, results.length + Math.max(1, fitting(largest)));
    results.push(...(await Promise.all(next.map(decodeOne))));
  }
  signal?.throwIfAborted();
  return results;
}

/**
 * The number of pictures to decode next, beside others of `heldPixels` pixels in all. The size of a picture is known once it is
 * decoded: a first one is decoded alone, and the next ones are taken to be as large as the `largest` so far; a small one says
 * nothing of them.
 */
export function fitting(largest: number, heldPixels = 0): number {
  if (largest === 0) return 1;
  return Math.min(Math.floor((MOST_PIXELS - heldPixels) / Math.max(largest, ASSUMED_PIXELS)), MOST_AT_ONCE);
}

/** A picture file by its name for errors. */
export async function decodeAs(name: string, picture: Blob): Promise<ImageBitmap> {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(await withoutExif(picture), AS_STORED);
  } catch (cause) {
    throw new Error(`${name} cannot be decoded as an image`, { cause });
  }
  return checked(name, bitmap);
}

/** A bitmap, unless it is too large. */
function checked(name: string, bitmap: ImageBitmap): ImageBitmap {
  const { width, height } = bitmap;
  if (width * height <= MOST_PIXELS) return bitmap;
  bitmap.close();
  const most = Math.floor(MOST_PIXELS / 1e6);
  throw new RangeError(`${name} has ${width}x${height} pixels, and at most ${most} million are decoded; make it smaller first`);
}

/** An image of a page as a bitmap, or as bytes. */
export async function decode(
  image: Exclude<ImageSource, string | URL>,
  signal?: AbortSignal,
): Promise<ImageBitmap | RgbaPixels> {
  if (image instanceof Blob) return decodeImage(image);
  if (isPixels(image)) return bytesOf(image);
  // A worker has no such class.
  const isElement = typeof HTMLImageElement !== "undefined" && image instanceof HTMLImageElement;
  if (isElement) await arrive(image, signal);
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(image, AS_STORED);
  } catch (cause) {
    // The browser's message speaks of `createImageBitmap`, which the caller did not call.
    if (cause instanceof TypeError) throw new TypeError(`an image is ${inWords(image)}, expected ${EXPECTED}`, { cause });
    throw cause;
  }
  const name = isElement ? nameOf(image) : inWords(image);
  checkReadable(name, bitmap);
  return checked(name, bitmap);
}

/** Waits for the file of an element, of one too that the browser loads only when it is seen; a cancelled call waits no longer. */
async function arrive(image: HTMLImageElement, signal: AbortSignal | undefined): Promise<void> {
  image.loading = "eager";
  const arrived = image.decode().catch((cause: unknown) => {
    throw new Error(`${nameOf(image)} cannot be loaded, or cannot be decoded as an image`, { cause });
  });
  if (!signal) return arrived;
  await new Promise<void>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    arrived.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** An element by the beginning of its address, which may hold a whole picture. */
function nameOf({ currentSrc }: HTMLImageElement): string {
  return currentSrc ? `the image ${currentSrc.slice(0, LONGEST_ADDRESS)}` : "an img element without a source";
}

/** Throws for pixels that the browser shows and gives to no script. */
function checkReadable(name: string, bitmap: ImageBitmap): void {
  const context = drawing(1, 1);
  context.drawImage(bitmap, 0, 0);
  try {
    context.getImageData(0, 0, 1, 1);
  } catch (cause) {
    bitmap.close();
    const remedy = 'an element needs crossorigin="anonymous", and the server has to allow the page by CORS';
    throw new Error(`${name} has pixels of another site, which no script may read; ${remedy}`, { cause });
  }
}

/** The accepted images, for a refusal. */
const EXPECTED =
  "an image, video or canvas element, an OffscreenCanvas, ImageBitmap, ImageData, VideoFrame or Blob, an address, " +
  "or { data, width, height } with bytes of RGBA";

function isPixels(image: Exclude<ImageSource, string | URL | Blob>): image is ImageData | RgbaPixels {
  return typeof image === "object" && image !== null && "data" in image && "width" in image;
}

/** Pixels as bytes of RGBA, in an array of their own. */
function bytesOf(image: ImageData | RgbaPixels): RgbaPixels {
  const { data, width, height } = image;
  checkInteger("the width of an image", width, 1);
  checkInteger("the height of an image", height, 1);
  const kind = kindOf(Object(data));
  const areBytes = kind === "Uint8ClampedArray" || kind === "Uint8Array";
  if (image instanceof ImageData && (!areBytes || (image.colorSpace ?? "srgb") !== "srgb")) return converted(image);
  if (!areBytes) {
    const floats = "numbers in 0..1 go to `embedBatch`, as { data, dims: [n, channels, height, width] }";
    throw new TypeError(`the data of an image is ${inWords(data)}, expected a Uint8ClampedArray or a Uint8Array; ${floats}`);
  }
  if (data.length !== width * height * 4) {
    throw new TypeError(`an image of ${width} x ${height} pixels needs ${width * height * 4} bytes of RGBA`);
  }
  return { data: new Uint8ClampedArray(data), width, height };
}

/** Pixels of another colour space, or that are no bytes, as bytes of sRGB. */
function converted(image: ImageData): RgbaPixels {
  return inTiles(image.width, image.height, (context, left, top) => context.putImageData(image, -left, -top));
}
