// The drawing area: one dark stroke after the other on a coloured background.

import { BACKGROUNDS } from "../background.js";
import type { Point } from "../shapes.js";
import type { Query } from "./answer-panel.js";

const STROKE_SHARE = 0.085;

/** The digit 3, in units of the pad, shown until the visitor draws. */
const EXAMPLE: readonly Point[] = [
  [0.34, 0.28],
  [0.42, 0.22],
  [0.52, 0.21],
  [0.62, 0.26],
  [0.65, 0.34],
  [0.61, 0.42],
  [0.52, 0.47],
  [0.46, 0.48],
  [0.53, 0.48],
  [0.63, 0.53],
  [0.68, 0.62],
  [0.65, 0.72],
  [0.56, 0.79],
  [0.44, 0.8],
  [0.33, 0.74],
];
const EXAMPLE_DIGIT = 3;

/** The drawing pad: shows strokes, or a picture from elsewhere on the page. */
export class Pad {
  /** Called after each change, while the pointer moves too. */
  onChange: () => void = () => {};

  readonly #context: CanvasRenderingContext2D;
  #strokes: Point[][] = [];
  #picture: ImageBitmap | undefined;
  /** The labels of the picture or the example. */
  #known: Query | undefined;
  #background = 0;

  constructor(readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (!context) throw new Error("this browser has no 2D canvas");
    this.#context = context;
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#extend(event));
    this.#paint();
  }

  /** The image to embed: the picture itself, not its enlargement. */
  get image(): HTMLCanvasElement | ImageBitmap {
    return this.#picture ?? this.canvas;
  }

  /** True if a picture is shown, which has its own background. */
  get showsPicture(): boolean {
    return this.#picture !== undefined;
  }

  /** The labels of the digit and its background, if known. */
  get subject(): Query {
    return this.#picture && this.#known ? this.#known : { digit: this.#known?.digit, background: this.#background };
  }

  get isEmpty(): boolean {
    return this.#strokes.length === 0 && !this.#picture;
  }

  /** Index of the palette. */
  set background(index: number) {
    this.#background = index;
    this.#change();
  }

  clear(): void {
    this.#reset();
    this.#change();
  }

  /** Shows an example, which the first stroke of the visitor removes. */
  showExample(): void {
    this.#reset();
    this.#known = { digit: EXAMPLE_DIGIT, background: undefined };
    this.#strokes = [EXAMPLE.map(([x, y]) => [x * this.canvas.width, y * this.canvas.height])];
    this.#change();
  }

  /** Shows a picture in place of the strokes. */
  show(picture: ImageBitmap, known: Query): void {
    this.#reset();
    this.#picture = picture;
    this.#known = known;
    this.#change();
  }

  #reset(): void {
    this.#strokes = [];
    this.#picture = undefined;
    this.#known = undefined;
  }

  #begin(event: PointerEvent): void {
    // A second finger, or another button of a mouse, draws nothing.
    if (!event.isPrimary || event.button !== 0) return;
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    if (this.#known) this.#reset();
    this.#strokes.push([this.#pointOf(event)]);
    this.#change();
  }

  #extend(event: PointerEvent): void {
    if (!this.canvas.hasPointerCapture(event.pointerId)) return;
    const stroke = this.#strokes.at(-1);
    // Pages without HTTPS and older versions of Safari do not have the function; the event itself follows in any case.
    for (const part of event.getCoalescedEvents?.() ?? []) stroke?.push(this.#pointOf(part));
    stroke?.push(this.#pointOf(event));
    this.#change();
  }

  #pointOf({ clientX, clientY }: PointerEvent): Point {
    const box = this.canvas.getBoundingClientRect();
    const scale = this.canvas.width / box.width;
    return [(clientX - box.left) * scale, (clientY - box.top) * scale];
  }

  #change(): void {
    this.#paint();
    this.onChange();
  }

  #paint(): void {
    const { width, height } = this.canvas;
    const context = this.#context;
    // A picture is shown as the shipped encoders see it: transparent pixels white, and the middle square of it.
    context.fillStyle = this.#picture ? "#ffffff" : (BACKGROUNDS[this.#background]?.[1] ?? "");
    context.fillRect(0, 0, width, height);
    if (this.#picture) {
      const side = Math.min(this.#picture.width, this.#picture.height);
      const [left, top] = [this.#picture.width, this.#picture.height].map((length) => Math.floor((length - side) / 2));
      // Small digits are shown as pixels; photographs are smoothed.
      context.imageSmoothingEnabled = side > width / 4;
      context.drawImage(this.#picture, left ?? 0, top ?? 0, side, side, 0, 0, width, height);
    }
    context.lineWidth = width * STROKE_SHARE;
    context.lineCap = "round";
    context.lineJoin = "round";
    for (const stroke of this.#strokes) this.#paintStroke(stroke);
  }

  /** A smooth line: the points are the controls, the points half-way between them lie on it. */
  #paintStroke(points: readonly Point[]): void {
    const [first] = points;
    const last = points.at(-1);
    if (!first || !last) return;
    const context = this.#context;
    context.beginPath();
    context.moveTo(...first);
    points.forEach(([x, y], at) => {
      const [nextX, nextY] = points[at + 1] ?? last;
      context.quadraticCurveTo(x, y, (x + nextX) / 2, (y + nextY) / 2);
    });
    context.lineTo(...last);
    context.stroke();
  }
}
