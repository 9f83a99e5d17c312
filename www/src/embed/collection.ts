// Images with their names and with the vectors computed so far.
import { decodeEach, type Encoder, type ImageSource } from "simile-web";

/** Images that are embedded at once: the progress is updated after each chunk. */
const CHUNK = 16;
/** Longest side of a picture of the map. */
const THUMBNAIL = 96;

/** An image and its name. */
export interface Named {
  readonly name: string;
  readonly source: Blob | ImageData;
}

export class Collection {
  readonly names: string[] = [];
  /** Small pictures of the images, where the browser made one. */
  readonly thumbnails: (ImageBitmap | undefined)[] = [];
  readonly sources: Named[] = [];
  /** As the encoder gives them. */
  readonly vectors: Float32Array[] = [];
  /** Names of files that no image could be read from. */
  readonly unreadable: string[] = [];

  /** Embeds images; throws if the signal is aborted. */
  static async embed(
    images: readonly Named[],
    encoder: Encoder,
    onProgress: (done: number) => void,
    signal: AbortSignal,
  ): Promise<Collection> {
    const collection = new Collection();
    for (let at = 0; at < images.length; at += CHUNK) {
      onProgress(at);
      await collection.#add(images.slice(at, at + CHUNK), encoder, signal);
    }
    return collection;
  }

  async #add(images: readonly Named[], encoder: Encoder, signal: AbortSignal): Promise<void> {
    const pictures = images.map(({ source }) => source);
    const read = await decodeEach(pictures, shrunk, { signal });
    const readable = images.filter((_, at) => read[at]);
    this.unreadable.push(...images.filter((_, at) => !read[at]).map(({ name }) => name));
    if (readable.length === 0) return;
    const sources: ImageSource[] = readable.map(({ source }) => source);
    const { data, dims } = await encoder.embedBatch(sources, { signal });
    readable.forEach((image, at) => {
      this.names.push(image.name);
      this.sources.push(image);
      this.vectors.push(data.slice(at * dims[1], (at + 1) * dims[1]));
    });
    this.thumbnails.push(...read.filter((one) => one !== undefined).map(({ thumbnail }) => thumbnail));
  }
}

/** An image that could be read. */
interface Shrunk {
  readonly thumbnail: ImageBitmap | undefined;
}

/** Makes a small picture of a whole one, which is closed unless it is small itself. */
async function shrunk(whole: ImageBitmap): Promise<Shrunk> {
  const scale = Math.min(1, THUMBNAIL / Math.max(whole.width, whole.height));
  if (scale === 1) return { thumbnail: whole };
  const side = (pixels: number) => Math.max(1, Math.round(pixels * scale));
  const size = { resizeWidth: side(whole.width), resizeHeight: side(whole.height) };
  try {
    return { thumbnail: await createImageBitmap(whole, { ...size, resizeQuality: "medium" }) };
  } catch {
    // The image can be embedded all the same.
    return { thumbnail: undefined };
  } finally {
    whole.close();
  }
}
