// Samples on a sphere: two views each, as unit rows, and a colour as the optional condition.
import { add, type Row, unit } from "./rows.js";

export interface Samples {
  /** Unit rows of the first and of the second views. */
  readonly views: readonly [number[][], number[][]];
  /** Colour of each sample, in turns from 0 to 1. */
  readonly hues: number[];
}

/** How samples are drawn. */
export interface Draw {
  readonly seed: number;
  readonly count: number;
  /** Dimension of the space that the sphere lies in. */
  readonly dims: number;
  /** The colours: any hue, or one of a few. */
  readonly colours: "hues" | "groups";
}

/** The number of classes that colours stand for where an objective needs labels. */
export const CLASSES = 4;
const TURN = 2 * Math.PI;
const SPREAD = 0.25;

/** Draws samples whose position is correlated with their colour, as with a leak of the condition. */
export function draw({ seed, count, dims, colours }: Draw): Samples {
  const random = generator(seed);
  const hues = Array.from({ length: count }, () => {
    const hue = random();
    return colours === "hues" ? hue : classOf(hue) / CLASSES;
  });
  if (dims === 2) return { hues, views: onCircle(hues, random) };
  const middles = hues.map((hue) => {
    const place = [Math.cos(TURN * hue), Math.sin(TURN * hue), ...Array<number>(dims - 2).fill(0)];
    return unit(add(place, deviates(dims, random), 1.6 / Math.sqrt(dims)));
  });
  const view = () => middles.map((middle) => unit(add(middle, deviates(dims, random), 0.5 / Math.sqrt(dims))));
  return { hues, views: [view(), view()] };
}

function onCircle(hues: readonly number[], random: () => number): [number[][], number[][]] {
  const middles = hues.map((hue) => TURN * (hue + SPREAD * (random() - 0.5)));
  const view = () =>
    middles.map((middle) => {
      const angle = middle + 0.5 * (random() - 0.5);
      return [Math.cos(angle), Math.sin(angle)];
    });
  return [view(), view()];
}

export function copy({ views: [a, b], hues }: Samples): Samples {
  const rows = (view: readonly Row[]) => view.map((row) => [...row]);
  return { views: [rows(a), rows(b)], hues: [...hues] };
}

/** The conditioning values: points of a circle, because 0 and 1 are the same hue. */
export function conditions({ hues }: Samples): number[][] {
  return hues.map((hue) => [Math.cos(TURN * hue), Math.sin(TURN * hue)]);
}

/** The class of each sample: the nearest of a few evenly spaced hues. */
export function labels({ hues }: Samples): number[] {
  return hues.map(classOf);
}

/** The bias of each sample, shown as its shape: every other one is square. */
export function biases({ hues }: Samples): number[] {
  return hues.map((_, at) => at % 2);
}

function classOf(hue: number): number {
  return Math.round(hue * CLASSES) % CLASSES;
}

/** The samples in the order of their hues, which is that of heat maps. */
export function byHue(hues: readonly number[]): number[] {
  return hues.map((_, at) => at).sort((p, q) => (hues[p] ?? 0) - (hues[q] ?? 0));
}

/** A colour as text, for those who cannot tell it from others. */
export function colourInWords(hue: number): string {
  return `hue ${Math.round(hue * 360)}°, class ${classOf(hue) + 1} of ${CLASSES}`;
}

/** Numbers of mean 0 and variance 1. */
function deviates(count: number, random: () => number): number[] {
  return Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(TURN * random()));
}

/** Numbers in 0..1 that are the same for the same seed: mulberry32. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
