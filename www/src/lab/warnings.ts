// The warnings of results that mean nothing though they are numbers, in the words of the page.
import { NAMES, type Side } from "./side.js";

/** How core begins the warnings about a kernel under which no two samples are alike, and about samples that are all alike. */
const ALL_APART = /^`z`: every kernel value/;
const ONE_VALUE = /^`z`: all samples have one value/;

/** One sentence for each warning; one for both sides where they have the same. */
export function warningsOf(sides: readonly Side[], hasBandwidth: boolean): string[] {
  const said = sides.map(({ verdict }) => verdict?.warnings.map((warning) => inWords(warning, hasBandwidth)) ?? []);
  return [...new Set(said.flat())].map((warning) => {
    const having = NAMES.filter((_, side) => said[side]?.includes(warning));
    return `${having.length === NAMES.length ? "both sides" : having.join()}: ${warning}.`;
  });
}

function inWords(warning: string, hasBandwidth: boolean): string {
  if (ONE_VALUE.test(warning)) return "all samples have one colour, so colour has no effect; paint some in another one";
  if (!ALL_APART.test(warning)) return warning;
  const remedy = hasBandwidth ? "raise the bandwidth σ" : "choose another kernel";
  return `no two colours are alike under this kernel, so colour has no effect; ${remedy}`;
}
