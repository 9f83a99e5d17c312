// The agreement of the images of a gallery with their neighbours.
import type { Gallery } from "./gallery.js";
import type { Steps } from "../slices.js";
import type { Space } from "../space.js";

/** Fractions of the neighbours, over all images, that share the digit or the background. */
export interface Tally {
  readonly digit: number;
  readonly background: number;
}

/** Counts the agreement of each image with its `count` nearest images, itself left out. */
export function* tally(space: Space, { labels, backgrounds }: Gallery, count: number): Steps<Tally> {
  let digit = 0;
  let background = 0;
  for (const [index, vector] of space.vectors.entries()) {
    const others = space.nearest(vector, count + 1).filter((other) => other.index !== index);
    for (const other of others.slice(0, count)) {
      if (labels[other.index] === labels[index]) digit++;
      if (backgrounds[other.index] === backgrounds[index]) background++;
    }
    yield;
  }
  const all = space.vectors.length * count;
  return { digit: digit / all, background: background / all };
}
