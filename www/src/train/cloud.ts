// A map of test images that follows a network while it learns: discs with the numbers of their classes.
import type { MappedImages } from "simile-web";
import { emptied } from "../canvas.js";
import { PALETTE } from "../background.js";
import type { Point } from "../shapes.js";
import { onThemeChange } from "../theme.js";

/** The meaning of a disc's colour. */
export type Colouring = "background" | "class";

const INK = "#1f2022";
const RADIUS = 0.0165;
const SMALLEST_RADIUS = 5;
const MARGIN = 0.04;
const GLIDE_MS = 500;
/** The share of the points inside the frame; the rest are drawn on its edge. */
const FRAMED = 0.98;

export class Cloud {
  readonly canvas = document.createElement("canvas");
  #images: MappedImages | undefined;
  #from: readonly Point[] = [];
  #to: readonly Point[] = [];
  #began = 0;
  #frame = 0;
  #colouring: Colouring = "background";

  constructor(private readonly title: string) {
    this.canvas.className = "cloud";
    this.canvas.setAttribute("role", "img");
    this.clear();
    new ResizeObserver(() => this.#paint()).observe(this.canvas);
    onThemeChange(() => this.#paint());
  }

  set colouring(colouring: Colouring) {
    this.#colouring = colouring;
    this.#paint();
  }

  clear(): void {
    [this.#images, this.#from, this.#to] = [undefined, [], []];
    this.canvas.setAttribute("aria-label", `Map of ${this.title}: nothing learnt yet`);
    this.#paint();
  }

  /** Moves the images to the places of a probe; `map` holds `x, y` of each. */
  show(images: MappedImages, map: Float32Array, description: string): void {
    const points = pairsOf(map);
    const placed = framed(this.#images ? turnedTowards(points, this.#to) : points);
    const isStill = !this.#images || matchMedia("(prefers-reduced-motion: reduce)").matches;
    // A map that arrives during an animation starts from the current places.
    this.#from = isStill ? placed : this.#now();
    this.#to = placed;
    this.#images = images;
    this.#began = performance.now();
    this.canvas.setAttribute("aria-label", `Map of ${this.title}: ${description}`);
    this.#glide();
  }

  #glide(): void {
    cancelAnimationFrame(this.#frame);
    if (performance.now() - this.#began >= GLIDE_MS) this.#from = this.#to;
    this.#paint();
    if (this.#from !== this.#to) this.#frame = requestAnimationFrame(() => this.#glide());
  }

  /** The current places of the points in the animation. */
  #now(): readonly Point[] {
    const share = Math.min((performance.now() - this.#began) / GLIDE_MS, 1);
    const eased = share * share * (3 - 2 * share);
    return this.#to.map(([x, y], at) => {
      const [fromX, fromY] = this.#from[at] ?? [x, y];
      return [fromX + (x - fromX) * eased, fromY + (y - fromY) * eased];
    });
  }

  #paint(): void {
    const size = this.canvas.clientWidth;
    const context = size > 0 ? emptied(this.canvas, size, size) : undefined;
    if (!context || !this.#images) return;
    const { labels, colours } = this.#images;
    const radius = Math.max(RADIUS * size, SMALLEST_RADIUS);
    context.font = `600 ${1.5 * radius}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.#now().forEach(([x, y], at) => {
      const place = (value: number) => size * (MARGIN + (1 - 2 * MARGIN) * ((value + 1) / 2));
      context.beginPath();
      context.arc(place(x), place(y), radius, 0, 2 * Math.PI);
      const ofBackground = [...colours.subarray(3 * at, 3 * at + 3)];
      const colour = this.#colouring === "background" ? ofBackground : (PALETTE[(labels[at] ?? 0) % PALETTE.length] ?? []);
      context.fillStyle = `rgb(${colour.join(" ")})`;
      context.fill();
      context.fillStyle = isDark(colour) ? "#ffffff" : INK;
      context.fillText(`${labels[at]}`, place(x), place(y) + 0.08 * radius);
    });
  }
}

function isDark([red = 0, green = 0, blue = 0]: readonly number[]): boolean {
  return 0.3 * red + 0.59 * green + 0.11 * blue < 90;
}

function pairsOf(map: Float32Array): Point[] {
  return Array.from({ length: map.length / 2 }, (_, at) => [map[2 * at] ?? 0, map[2 * at + 1] ?? 0]);
}

/** The points in a square from -1 to 1. */
function framed(points: readonly Point[]): Point[] {
  const [x0, x1] = spread(points.map(([x]) => x));
  const [y0, y1] = spread(points.map(([, y]) => y));
  const unit = Math.max(x1 - x0, y1 - y0) / 2 || 1;
  const place = (value: number, low: number, high: number) =>
    Math.min(Math.max((value - (low + high) / 2) / unit, -1), 1);
  return points.map(([x, y]) => [place(x, x0, x1), place(y, y0, y1)]);
}

/** The range of the values without a few at both ends. */
function spread(values: number[]): readonly [number, number] {
  const sorted = values.sort((a, b) => a - b);
  const last = sorted.length - 1;
  const outside = Math.floor(((1 - FRAMED) / 2) * last);
  return [sorted[outside] ?? 0, sorted[last - outside] ?? 0];
}

/**
 * Rotates, and if necessary mirrors, a map to match the last one, because main directions have no sign and can swap.
 */
function turnedTowards(points: readonly Point[], last: readonly Point[]): Point[] {
  let [a, b, c, d] = [0, 0, 0, 0];
  points.forEach(([x, y], at) => {
    const [lastX, lastY] = last[at] ?? [0, 0];
    a += x * lastX;
    b += x * lastY;
    c += y * lastX;
    d += y * lastY;
  });
  const mirrored = Math.hypot(a - d, b + c) > Math.hypot(a + d, b - c);
  const angle = mirrored ? Math.atan2(b + c, a - d) : Math.atan2(b - c, a + d);
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  return points.map(([x, y]) =>
    mirrored ? [cosine * x + sine * y, sine * x - cosine * y] : [cosine * x - sine * y, sine * x + cosine * y],
  );
}
