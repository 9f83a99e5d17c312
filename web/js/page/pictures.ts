// Packs the images of a page for its worker.
import { messageOf } from "../shared/errors.js";
import { AT_ONCE, type EncoderInfo, type FloatImages, type Pictures, type RgbaPixels } from "../shared/protocol.js";
import { decode, decodeAs, fitting, type ImageSource } from "./decode.js";
import { fetched } from "./fetched.js";
import { asList, inWords, kindOf } from "./options.js";

/** Images for the worker, with the buffers that are transferred and not copied. */
export interface Parcel {
  readonly images: Pictures;
  readonly transfer: Transferable[];
}

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
      const sizes = pictures.map(({ width, height }) => width * height);
      const heldPixels = sizes.reduce((sum, size) => sum + size, 0);
      const count = fitting(Math.max(0, ...sizes), heldPixels);
      if (count < 1) break;
      const next = images.slice(at, Math.min(at + count, end));
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
  return ArrayBuffer.isView(images) ? "{ data, dims }" : asList(images, "image");
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
