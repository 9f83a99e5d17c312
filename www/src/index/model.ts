// An encoder that is compared with others, with its embeddings of the gallery.
import type { CheckpointSource, DeviceChoice, DeviceInfo, Encoder } from "simile-web";
import type { Gallery } from "./gallery.js";
import { loadEncoder } from "../load-encoder.js";
import { inSlices } from "../slices.js";
import { type Neighbour, NEIGHBOURS, Space } from "../space.js";
import { type Tally, tally } from "./tally.js";
import { rowsOf } from "../vector.js";

/** A title for a model, and the place of its checkpoint. */
export interface Origin {
  readonly title: string;
  readonly note: string;
  readonly source: CheckpointSource;
}

export interface ModelOptions {
  readonly device: DeviceChoice;
  readonly onProgress: (loaded: number, total: number | undefined) => void;
  readonly onDevice: (device: DeviceInfo) => void;
}

export interface Answer {
  readonly vector: Float32Array;
  readonly neighbours: readonly Neighbour[];
  /** The time for embedding the query. */
  readonly milliseconds: number;
}

export class Model {
  private constructor(
    readonly encoder: Encoder,
    /** Why it is not on WebGPU, if that was asked for. */
    readonly refusal: string | undefined,
    readonly space: Space,
    readonly tally: Tally,
  ) {}

  static async load({ source }: Origin, gallery: Gallery, options: ModelOptions): Promise<Model> {
    const { device, onProgress, onDevice } = options;
    const { encoder, refusal } = await loadEncoder(source, {
      device,
      onProgress: ({ loaded, total }) => onProgress(loaded, total),
      onDevice,
    });
    try {
      const { data, dims } = await encoder.embedBatch(gallery.pixels);
      const space = await inSlices(Space.fit(rowsOf(data, dims[1])));
      return new Model(encoder, refusal, space, await inSlices(tally(space, gallery, NEIGHBOURS)));
    } catch (error) {
      encoder.dispose();
      throw error;
    }
  }

  async answer(image: HTMLCanvasElement | ImageBitmap): Promise<Answer> {
    const start = performance.now();
    const embedding = await this.encoder.embed(image);
    const milliseconds = performance.now() - start;
    const vector = this.space.place(embedding);
    return { vector, neighbours: this.space.nearest(vector, NEIGHBOURS), milliseconds };
  }
}
