// The warnings of a run that can tell nothing, in the words of the page: no kernel can be chosen here.
import { inWords } from "../warnings.js";
import { TITLES } from "./curves.js";
import type { Learner } from "./learner.js";

const NO_COLOUR = "the images of this run hardly differ in mean colour, so there is no colour to set aside";

/**
 * The sentences that follow what the page says of a run; none where there is nothing to warn of. `remedy` is that of a step whose
 * images have few of a similar colour.
 */
export function warningsOf(learners: readonly Learner[], remedy: string): string {
  const sentences = {
    "one-value": NO_COLOUR,
    "all-alike": NO_COLOUR,
    "all-apart": `almost no two images of a step have a similar colour, so each has few to be compared with; ${remedy}`,
  };
  const ofSide = (learner: Learner, side: number) =>
    inWords(learner, sentences).map((sentence) => ` ${TITLES[side]}: ${sentence}.`);
  return learners.flatMap(ofSide).join("");
}
