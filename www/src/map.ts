// The gallery as a map: each image where the two main directions of its embedding put it.
import type { Gallery } from "./gallery.js";
import { Projection } from "./projection.js";
import type { Neighbour } from "./search.js";

const THUMBNAIL = 20;
const MARGIN = 26;

type Point = readonly [x: number, y: number];

export class GalleryMap {
  /** Called with the image that was chosen. */
  onChoose: (index: number) => void = () => {};

  #gallery: Gallery | undefined;
  #projection: Projection | undefined;
  #points: readonly Point[] = [];
  #query: Float32Array | undefined;
  #near = new Set<number>();

  constructor(private readonly canvas: HTMLCanvasElement) {
    new ResizeObserver(() => this.#paint()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
    canvas.addEventListener("click", ({ offsetX, offsetY }) => this.#choose([offsetX, offsetY]));
  }

  /** Shows a gallery where the vectors of its images put it. */
  showGallery(gallery: Gallery, vectors: readonly Float32Array[]): void {
    this.#gallery = gallery;
    this.#projection = Projection.fit(vectors);
    this.#points = vectors.map((vector) => this.#projection?.project(vector) ?? [0, 0]);
    this.#paint();
  }

  /** Shows where a query lies, and dims all but its neighbours. */
  showQuery(vector: Float32Array | undefined, neighbours: readonly Neighbour[]): void {
    this.#query = vector;
    this.#near = new Set(neighbours.map(({ index }) => index));
    this.#paint();
  }

  #choose([x, y]: Point): void {
    const toCanvas = this.#scale();
    const distances = this.#points.map((point) => {
      const [px, py] = toCanvas(point);
      return Math.hypot(px - x, py - y);
    });
    const nearest = Math.min(...distances);
    if (nearest < THUMBNAIL) this.onChoose(distances.indexOf(nearest));
  }

  /** From the plane of the projection to the canvas, in CSS pixels. */
  #scale(): (point: Point) => Point {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [left, right] = range(this.#points.map(([x]) => x));
    const [top, bottom] = range(this.#points.map(([, y]) => y));
    const place = (value: number, low: number, high: number, size: number) => {
      const share = (value - low) / (high - low || 1);
      return MARGIN + Math.min(Math.max(share, 0), 1) * (size - 2 * MARGIN);
    };
    return ([x, y]) => [place(x, left, right, width), place(y, top, bottom, height)];
  }

  #paint(): void {
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.canvas.width = width * devicePixelRatio;
    this.canvas.height = height * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const gallery = this.#gallery;
    if (!gallery) return;

    const toCanvas = this.#scale();
    const accent = getComputedStyle(this.canvas).getPropertyValue("--accent");
    const far = [...this.#points.keys()].filter((index) => !this.#near.has(index));
    for (const index of [...far, ...this.#near]) {
      const [image, point] = [gallery.images[index], this.#points[index]];
      if (!image || !point) continue;
      const near = this.#near.has(index);
      const [x, y] = toCanvas(point);
      const size = near ? THUMBNAIL * 1.25 : THUMBNAIL;
      context.globalAlpha = near || !this.#query ? 1 : 0.45;
      context.drawImage(image, x - size / 2, y - size / 2, size, size);
    }
    context.globalAlpha = 1;
    if (!this.#query || !this.#projection) return;
    const [x, y] = toCanvas(this.#projection.project(this.#query));
    context.strokeStyle = accent;
    context.lineWidth = 3;
    context.beginPath();
    context.arc(x, y, THUMBNAIL * 0.8, 0, 2 * Math.PI);
    context.stroke();
  }
}

function range(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)];
}
