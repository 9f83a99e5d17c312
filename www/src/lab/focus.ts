// The text on a sample and on what moves it.
import { colourInWords } from "./samples.js";
import type { Side } from "./side.js";
import { SIDES } from "./sides.js";

/** The rows that pull and push a row, on both sides, in words; there are `count` first views and as many second ones. */
export function describeFocus(sides: readonly Side[], row: number | undefined, count: number): string {
  if (row === undefined) return "Point at a sample to see what pulls and what pushes it.";
  const [sample, partner] = [row % count, (row + count) % (2 * count)];
  const colour = colourInWords(sides[0]?.samples.hues[sample] ?? 0);
  const described = sides.map(({ evaluation }, side) => {
    const forces = evaluation?.forces?.[row];
    if (!forces) return `${SIDES[side]}: no forces between pairs`;
    const others = forces.filter((_, at) => at !== row && at !== partner);
    const [pull, push] = [-1, 1].map((sign) => others.reduce((sum, force) => sum + Math.max(0, sign * force), 0));
    const own = forces[partner] ?? 0;
    const pair = `${own > 0 ? "push" : "pull"} of its other view ${Math.abs(own).toFixed(3)}`;
    return `${SIDES[side]}: ${pair}, pulls of the others ${pull?.toFixed(3)}, pushes ${push?.toFixed(3)}`;
  });
  return `Sample ${sample + 1}, ${row < count ? "first" : "second"} view, ${colour}. ${described.join("; ")}.`;
}
