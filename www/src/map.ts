// A map of images: each at the projection of its embedding onto the two main directions.
import { emptied } from "./canvas.js";
import { Projection } from "./projection.js";
import type { Point } from "./shapes.js";
import { inSlices } from "./slices.js";
import type { Neighbour } from "./space.js";
import { onThemeChange, readTheme } from "./theme.js";

const THUMBNAIL = 20;
const MARGIN = 26;

/** Steps from image to image by keyboard. */
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export class ImageMap {
  /** The image from which arrow keys go on. */
  chosen: number | undefined;

  /** Called with the image that is to be chosen. */
  onChoose: (index: number) => void = () => {};

  /** Called with the image that is pointed at, if there is one. */
  onPoint: (index: number | undefined) => void = () => {};

  #wanted: readonly Float32Array[] = [];
  #images: readonly (ImageBitmap | undefined)[] = [];
  #projection: Projection | undefined;
  #points: readonly Point[] = [];
  #query: Float32Array | undefined;
  #near = new Set<number>();

  constructor(private readonly canvas: HTMLCanvasElement) {
    new ResizeObserver(() => this.#paint()).observe(canvas);
    onThemeChange(() => this.#paint());
    canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      const index = this.#at([offsetX, offsetY]);
      if (index !== undefined) this.onChoose(index);
    });
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.onPoint(this.#at([offsetX, offsetY])));
    canvas.addEventListener("pointerleave", () => this.onPoint(undefined));
    canvas.addEventListener("keydown", (event) => this.#press(event));
  }

  /** Shows images at the projections of their vectors, unless other images are requested before those are computed. */
  async show(images: readonly (ImageBitmap | undefined)[], vectors: readonly Float32Array[]): Promise<void> {
    this.#wanted = vectors;
    const projection = await inSlices(Projection.fit(vectors));
    if (this.#wanted !== vectors) return;
    [this.#images, this.#projection] = [images, projection];
    this.#points = vectors.map((vector) => projection.project(vector));
    this.#paint();
  }

  /** Shows the place of a query, and dims all images but its neighbours. */
  showQuery(vector: Float32Array | undefined, neighbours: readonly Neighbour[]): void {
    this.#query = vector;
    this.#near = new Set(neighbours.map(({ index }) => index));
    this.#paint();
  }

  #press(event: KeyboardEvent): void {
    const [step, count] = [STEPS[event.key], this.#points.length];
    if (!step || count === 0) return;
    event.preventDefault();
    // Where none is chosen, between the last and the first one.
    const from = this.chosen ?? (step < 0 ? count : -1);
    this.onChoose((from + step + count) % count);
  }

  /** The image at a place of the canvas. */
  #at([x, y]: Point): number | undefined {
    const toCanvas = this.#scale();
    const distances = this.#points.map((point) => {
      const [px, py] = toCanvas(point);
      return Math.hypot(px - x, py - y);
    });
    const nearest = Math.min(...distances);
    return nearest < THUMBNAIL ? distances.indexOf(nearest) : undefined;
  }

  /** From the plane of the projection to the canvas, in CSS pixels. */
  #scale(): (point: Point) => Point {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [left, right] = range(this.#points.map(([x]) => x));
    const [top, bottom] = range(this.#points.map(([, y]) => y));
    const place = (value: number, low: number, high: number, size: number) => {
      // A single image lies in the middle.
      const share = high > low ? (value - low) / (high - low) : 0.5;
      return MARGIN + Math.min(Math.max(share, 0), 1) * (size - 2 * MARGIN);
    };
    return ([x, y]) => [place(x, left, right, width), place(y, top, bottom, height)];
  }

  #paint(): void {
    const context = emptied(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight);
    if (!context || this.#images.length === 0) return;

    const toCanvas = this.#scale();
    const far = [...this.#points.keys()].filter((index) => !this.#near.has(index));
    for (const index of [...far, ...this.#near]) {
      const [image, point] = [this.#images[index], this.#points[index]];
      if (!image || !point) continue;
      const near = this.#near.has(index);
      const [x, y] = toCanvas(point);
      const size = near ? THUMBNAIL * 1.25 : THUMBNAIL;
      const shrink = size / Math.max(image.width, image.height);
      const [across, down] = [image.width * shrink, image.height * shrink];
      context.globalAlpha = near || !this.#query ? 1 : 0.45;
      context.drawImage(image, x - across / 2, y - down / 2, across, down);
    }
    context.globalAlpha = 1;
    if (!this.#query || !this.#projection) return;
    const [x, y] = toCanvas(this.#projection.project(this.#query));
    // The custom property itself would be the text `light-dark(...)`, which a canvas ignores.
    context.strokeStyle = readTheme().accent;
    context.lineWidth = 3;
    context.beginPath();
    context.arc(x, y, THUMBNAIL * 0.8, 0, 2 * Math.PI);
    context.stroke();
  }
}

function range(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)];
}
