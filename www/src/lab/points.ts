// Samples on a circle: two views each, as angles, and a condition, as a hue.

export interface Points {
  /** Angles of the first and of the second views, in radians. */
  readonly views: readonly [number[], number[]];
  /** Condition of each sample, in turns. */
  readonly hues: readonly number[];
}

const SAMPLES = 16;
const TURN = 2 * Math.PI;

/** Samples whose place tells their colour, more or less: what a colour leak looks like. */
export function draw(seed: number): Points {
  const random = generator(seed);
  const hues = Array.from({ length: SAMPLES }, () => random());
  const middles = hues.map((hue) => TURN * (hue + 0.25 * (random() - 0.5)));
  const view = () => middles.map((middle) => middle + 0.5 * (random() - 0.5));
  return { views: [view(), view()], hues };
}

export function copy({ views: [a, b], hues }: Points): Points {
  return { views: [[...a], [...b]], hues };
}

/** As points of the plane. */
export function rows(angles: readonly number[]): [number, number][] {
  return angles.map((angle) => [Math.cos(angle), Math.sin(angle)]);
}

/** The conditions, as points of the plane: 0 and 1 are the same hue. */
export function conditions({ hues }: Points): [number, number][] {
  return rows(hues.map((hue) => TURN * hue));
}

/** From a gradient in the plane to one along the circle. */
export function alongCircle(angles: readonly number[], gradient: readonly (readonly number[])[]): number[] {
  return angles.map((angle, at) => {
    const [x = 0, y = 0] = gradient[at] ?? [];
    return y * Math.cos(angle) - x * Math.sin(angle);
  });
}

export interface Figures {
  readonly alignment: number;
  readonly uniformity: number;
  readonly sharedColour: number;
}

export function measure({ views, hues }: Points): Figures {
  const [a, b] = views;
  const all = [...a, ...b];
  const squared = (x: number, y: number) => 2 - 2 * Math.cos(x - y);
  const alignment = mean(a.map((angle, at) => squared(angle, b[at] ?? 0)));
  const potentials = all.flatMap((x, i) => all.slice(i + 1).map((y) => Math.exp(-2 * squared(x, y))));
  const sharedColour = mean(
    all.map((angle, at) => {
      const own = at % a.length;
      const distances = all.map((other, to) => (to % a.length === own ? Number.POSITIVE_INFINITY : squared(angle, other)));
      const nearest = distances.indexOf(Math.min(...distances)) % a.length;
      return Math.cos(TURN * ((hues[own] ?? 0) - (hues[nearest] ?? 0)));
    }),
  );
  return { alignment, uniformity: Math.log(mean(potentials)), sharedColour };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
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
