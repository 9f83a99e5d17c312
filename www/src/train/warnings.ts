// The warnings of a run that can tell nothing, in the words of the page: no kernel can be chosen here.
import type { Learner } from "./learner.js";
import { SIDES } from "./curves.js";

/** Parts of the warnings of the package. */
const NO_COLOUR = / alike in `colour`| one value of `colour`/;
const ALL_APART = / apart by `colour`/;

/**
 * The sentences that follow what the page says of a run; none where there is nothing to warn of. `takesAll` says that a step
 * takes all images of the folder.
 */
export function warningsOf(learners: readonly Learner[], takesAll: boolean): string {
  const sentence = (side: number, warning: string) => ` ${SIDES[side]}: ${inWords(warning, takesAll)}.`;
  return learners.flatMap(({ warnings }, side) => warnings.map((warning) => sentence(side, warning))).join("");
}

function inWords(warning: string, takesAll: boolean): string {
  if (NO_COLOUR.test(warning)) return "the images of this run hardly differ in mean colour, so there is no colour to set aside";
  if (!ALL_APART.test(warning)) return warning;
  const remedy = takesAll ? "take a folder with more images" : "take more images in a step";
  return `almost no two images of a step have a similar colour, so each has few to be compared with; ${remedy}`;
}
