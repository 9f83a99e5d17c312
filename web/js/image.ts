// Converts the image types of a page into a form that can be transferred to a worker.
import { withoutExif } from "./exif.js";
import { fetched } from "./fetched.js";
import { inWords, kindOf, messageOf } from "./given.js";
import { checkInteger } from "./numbers.js";
import type { EncoderInfo, FloatImages, Pictures, RgbaPixels } from "./protocol.js";

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

/** Most images that are sent and embedded at once: a cancelled call stops within so many. */
export const AT_ONCE = 16;

/** Images for the worker, with the buffers that are transferred and not copied. */
export interface Parcel {
  readonly images: Pictures;
  readonly transfer: Transferable[];
}

/**
 * Pixels of the largest picture that is decoded, 8192 x 8192, as by the command line: a small file can announce many
 * more. A parcel of several pictures has no more together, four bytes each, but for up to three larger than
 * `ASSUMED_PIXELS` that follow smaller ones.
 */
const MOST_PIXELS = 2 ** 26;

/** Least pixels that a picture is taken to have until it is decoded: at most three are decoded at the same time. */
const ASSUMED_PIXELS = MOST_PIXELS / 4;

/** Side of the largest square that is drawn at once: a larger canvas is blank in some browsers, and none says so. */
const TILE = 4096;

/** Longest part of an address that an error repeats. */
const LONGEST_ADDRESS = 200;

/** Decodes the values as stored: no colour management and no premultiplied alpha. */
const AS_STORED: ImageBitmapOptions = { premultiplyAlpha: "none", colorSpaceConversion: "none" };

/**
 * Packs images for an encoder, at most `AT_ONCE` in a parcel, or all floats in one; throws if floats are not of the size
 * that it takes.
 */
export async function* pack(
  images: readonly ImageSource[] | FloatImages,
  { inputSize }: EncoderInfo,
  signal?: AbortSignal,
): AsyncGenerator<Parcel, void> {
  if (isFloatImages(images)) {
    checkSize(images, inputSize);
    checkRange(images.data);
    const data = new Float32Array(images.data);
    yield { images: { floats: { data, dims: images.dims } }, transfer: [data.buffer] };
    return;
  }
  // Plain JavaScript may give a single image, or the files of an input.
  if (!Array.isArray(images)) {
    throw new TypeError(`images are neither a list nor numbers with dims; write ${remedyFor(images)}`);
  }
  for await (const { pictures, transfer } of packPictures(images, signal)) yield { images: { pictures }, transfer };
}

/**
 * Packs pictures for the worker, with the buffers that are transferred: at most `AT_ONCE` in a parcel, fewer where they are
 * large. An error names its place among several pictures.
 */
export async function* packPictures(images: readonly ImageSource[], signal?: AbortSignal) {
  let at = 0;
  // The files of a parcel come together; that of a picture that does not fit waits for the next parcel.
  const files = new Map<number, Promise<FetchedFile>>();
  const fetchUpTo = (end: number) => {
    for (let place = at; place < end; place++) {
      const image = images[place];
      if (!isAddress(image) || files.has(place)) continue;
      const file = fetchFile(image, signal);
      // The failure is reported where the picture is decoded, unless the call ends before.
      file.catch(() => {});
      files.set(place, file);
    }
  };
  const decodeOne = async (image: ImageSource, place: number) => {
    try {
      if (!isAddress(image)) return await decode(image, signal);
      const { name, content } = await (files.get(place) ?? fetchFile(image, signal));
      files.delete(place);
      return await decodeAs(name, content);
    } catch (cause) {
      // A call that was taken back rejects with the reason for that.
      if (images.length === 1 || signal?.aborted) throw cause;
      throw new Error(`image ${place}: ${messageOf(cause)}`, { cause });
    }
  };
  while (at < images.length) {
    signal?.throwIfAborted();
    const end = Math.min(at + AT_ONCE, images.length);
    fetchUpTo(end);
    const pictures: (ImageBitmap | RgbaPixels)[] = [];
    while (at < end) {
      // The size of a picture is known once it is decoded. The next ones are taken to be as large as the largest so far; a
      // small one says nothing of them.
      const sizes = pictures.map(({ width, height }) => width * height);
      const left = MOST_PIXELS - sizes.reduce((sum, size) => sum + size, 0);
      const fitting = pictures.length === 0 ? 1 : Math.floor(left / Math.max(...sizes, ASSUMED_PIXELS));
      if (fitting < 1) break;
      const next = images.slice(at, Math.min(at + fitting, end));
      pictures.push(...(await Promise.all(next.map((image, offset) => decodeOne(image, at + offset)))));
      at += next.length;
    }
    const transfer = pictures.map((picture) => (picture instanceof ImageBitmap ? picture : picture.data.buffer));
    yield { pictures, transfer };
  }
}

/** A file from an address, with its name for errors. */
interface FetchedFile {
  readonly name: string;
  readonly content: Blob;
}

function isAddress(image: unknown): image is URL | string {
  return typeof image === "string" || image instanceof URL;
}

async function fetchFile(address: URL | string, signal?: AbortSignal): Promise<FetchedFile> {
  const response = await fetched("image", address, signal ? { signal } : {});
  if (!response.ok) throw new Error(`the image ${response.url} cannot be fetched: ${response.status}`);
  return { name: `the image ${response.url}`, content: await response.blob() };
}

/** How to write images that are neither a list nor numbers with dims. */
function remedyFor(images: unknown): string {
  if (ArrayBuffer.isView(images)) return "{ data, dims }";
  // A spread makes a list of a `FileList`, a `NodeList`, a set; the letters of an address are no images.
  const areSeveral = typeof images === "object" && images !== null && Symbol.iterator in images;
  return areSeveral ? "[...images]" : "[image]";
}

function isFloatImages(images: readonly ImageSource[] | FloatImages): images is FloatImages {
  return typeof images === "object" && images !== null && "dims" in images;
}

function checkSize({ data, dims }: FloatImages, inputSize: EncoderInfo["inputSize"]): void {
  if (!Array.isArray(data) && !kindOf(Object(data)).startsWith("Float")) {
    throw new TypeError(`the data of images is ${inWords(data)}, expected a Float32Array of numbers in 0..1`);
  }
  const [count, ...size] = dims;
  if (size.join() !== inputSize.join()) {
    throw new RangeError(`the encoder takes images of ${inputSize.join(" x ")} numbers, not ${size.join(" x ")}`);
  }
  const length = size.reduce((product, side) => product * side, count);
  if (data.length !== length) {
    throw new RangeError(`images of ${dims.join(" x ")} need ${length} numbers, and ${data.length} are given`);
  }
}

/** Throws for bytes that were not divided by 255, and for numbers that were normalised: the encoder does that itself. */
function checkRange(data: FloatImages["data"]): void {
  const at = data.findIndex((value) => !(Number.isFinite(value) && value >= 0 && value <= 1));
  if (at < 0) return;
  const wrong = data[at];
  if (!Number.isFinite(wrong)) throw new RangeError("images have a number that is not finite");
  throw new RangeError(`images have the number ${wrong}, expected numbers in 0..1, not normalised; bytes are divided by 255`);
}

/**
 * A picture file as encoders see it, for a page that shows it: the pixels as stored, without the orientation in Exif.
 * Rejects with the name of a file that holds no picture.
 */
export function decodeImage(picture: Blob): Promise<ImageBitmap> {
  return decodeAs(picture instanceof File ? picture.webkitRelativePath || picture.name : "the picture", picture);
}

async function decodeAs(name: string, picture: Blob): Promise<ImageBitmap> {
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

async function decode(
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

/** A canvas in main memory: one on the GPU may round. */
function drawing(width: number, height: number): OffscreenCanvasRenderingContext2D {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("this browser offers no 2D canvas to read images with");
  return context;
}

/** A part of a picture that is drawn at the corner of a canvas. */
type Draw = (context: OffscreenCanvasRenderingContext2D, left: number, top: number, across: number, down: number) => void;

/** The pixels of a picture that is drawn in tiles. */
function inTiles(width: number, height: number, draw: Draw): RgbaPixels {
  const context = drawing(Math.min(width, TILE), Math.min(height, TILE));
  // A tile takes the place of the one before.
  context.globalCompositeOperation = "copy";
  const data = new Uint8ClampedArray(4 * width * height);
  for (let top = 0; top < height; top += TILE) {
    for (let left = 0; left < width; left += TILE) {
      const [across, down] = [Math.min(TILE, width - left), Math.min(TILE, height - top)];
      draw(context, left, top, across, down);
      const tile = context.getImageData(0, 0, across, down).data;
      for (let row = 0; row < down; row++) {
        data.set(tile.subarray(4 * across * row, 4 * across * (row + 1)), 4 * (width * (top + row) + left));
      }
    }
  }
  return { data, width, height };
}

/** The pixels of a bitmap, which is closed. Runs in the worker. */
export function pixelsOf(picture: ImageBitmap | RgbaPixels): RgbaPixels {
  if (!(picture instanceof ImageBitmap)) return picture;
  const draw: Draw = (context, left, top, across, down) =>
    context.drawImage(picture, left, top, across, down, 0, 0, across, down);
  const pixels = inTiles(picture.width, picture.height, draw);
  picture.close();
  return pixels;
}

/** Concatenates arrays. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
