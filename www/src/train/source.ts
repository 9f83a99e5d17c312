// The training images: digits that the page draws, or a folder of the visitor with a subfolder for each class.
import type { LabelledImage, TrainerOptions } from "simile-web";
import { pathOf, sorted } from "../paths.js";

/** Training images with their descriptions. */
export interface Source {
  readonly options: Pick<TrainerOptions, "images" | "testImages">;
  /** The target of the probe, as a heading. */
  readonly subject: "Digit" | "Class";
  readonly description: string;
}

const DIGITS = 4096;
const TEST_DIGITS = 1000;

/** Digits that core draws. */
export const DRAWN: Source = {
  options: { images: DIGITS, testImages: TEST_DIGITS },
  subject: "Digit",
  description:
    `Learns from ${count(DIGITS)} digits that this page draws, and is judged by ${count(TEST_DIGITS)} others. ` +
    "A folder of yours can be chosen, or dropped on this page: each class is a folder in it, and what is set aside is " +
    "the mean colour of an image.",
};

/** The images of a folder; each subfolder is a class. */
export function ofFolder(files: readonly File[]): Source {
  const images = sorted(files).filter(({ type }) => type.startsWith("image/"));
  const classOf = (file: File) => pathOf(file).split("/").slice(1, -1).join("/");
  const classes = [...new Set(images.map(classOf))].filter((name) => name !== "").sort();
  if (classes.length < 2) {
    throw new Error("That folder has no two folders of images in it, one for each class.");
  }
  const labelled: LabelledImage[] = images
    .filter((image) => classOf(image) !== "")
    .map((image) => ({ image, label: classes.indexOf(classOf(image)) }));
  return {
    options: { images: labelled },
    subject: "Class",
    description:
      `Learns from four fifths of ${count(labelled.length)} images of ${classes.length} classes ` +
      `(${classes.map((name, at) => `${at}: ${name}`).join(", ")}), and is judged by the rest; what Fair-CCLK is told ` +
      "is the mean colour of each.",
  };
}

function count(value: number): string {
  return value.toLocaleString("en");
}
