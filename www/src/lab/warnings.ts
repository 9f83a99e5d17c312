// The warnings of results that mean nothing though they are numbers, in the words of the page.
import { inWords } from "../warnings.js";
import type { Side } from "./side.js";
import { SIDES } from "./sides.js";

/** One sentence for each warning; one for both sides where they have the same. `remedy` is that of a kernel that is too narrow. */
export function warningsOf(sides: readonly Side[], remedy: string): string[] {
  const sentences = {
    "one-value": "all samples have one colour, so colour has no effect; paint some in another one",
    "all-apart": `no two colours are alike under this kernel, so colour has no effect; ${remedy}`,
  };
  const warningsBySide = sides.map(({ evaluation }) => (evaluation ? inWords(evaluation, sentences) : []));
  return [...new Set(warningsBySide.flat())].map((warning) => {
    const having = SIDES.filter((_, side) => warningsBySide[side]?.includes(warning));
    return `${having.length === SIDES.length ? "both sides" : having.join()}: ${warning}.`;
  });
}
