// The training images: digits that the page draws, or a folder of the visitor with a subfolder for each class.
import { decodeEach, heldOut, type TrainerOptions } from "simile-web";
import { isImage, leftOut, UNREADABLE } from "../omissions.js";
import { pathOf, sorted } from "../paths.js";
import { counted } from "../words.js";

/** Training images with their descriptions. */
export interface Source {
  readonly options: Required<Pick<TrainerOptions, "images" | "testImages">>;
  /** Number of images to train on. */
  readonly trained: number;
  /** The target of the probe, as a heading. */
  readonly subject: "Digit" | "Class";
  readonly description: string;
  /** Says which files are left out, if any are. */
  readonly omission: string;
  /** The paths of those files. */
  readonly omitted: readonly string[];
  /** The files of the folder. */
  readonly files: readonly File[];
}

const DIGITS = 4096;
const TEST_DIGITS = 1000;

/** With fewer images held out, the standard error of an accuracy of one half is above 7 %. */
const ENOUGH = 50;

/** Names of the parts of a data set. */
const SPLITS = /^(train|training|val|valid|validation|dev|test|testing)$/i;

/** Digits that core draws. */
export const DRAWN: Source = {
  options: { images: DIGITS, testImages: TEST_DIGITS },
  trained: DIGITS,
  subject: "Digit",
  description:
    `Learns from ${counted(DIGITS, "digit")} that this page draws, and is judged by ${TEST_DIGITS.toLocaleString("en")} ` +
    "others. A folder of yours can be chosen, or dropped on this page: each class is a folder in it, and the attribute set " +
    "aside is the mean colour of an image.",
  omission: "",
  omitted: [],
  files: [],
};

/** The images of a folder; each subfolder is a class. `unreadable` are images that cannot be decoded. */
export function ofFolder(files: readonly File[], unreadable: readonly File[] = []): Source {
  const isSuitable = (file: File) => isImage(file) && classOf(file) !== "";
  const damaged = new Set(unreadable);
  const images = sorted(files).filter((file) => isSuitable(file) && !damaged.has(file));
  const classes = [...new Set(images.map(classOf))].sort();
  const unsuitable = sorted(files).filter((file) => !isSuitable(file));
  const omission = omissionOf(unreadable, unsuitable);
  if (classes.length < 2) {
    throw new Error(`That folder has no two folders of images in it, one for each class.${omission}`);
  }
  checkParts(classes);
  const testImages = heldOut(images.length);
  const judges = `${counted(testImages, "other")}${testImages < ENOUGH ? ", too few for figures that mean much" : ""}`;
  return {
    options: { images: images.map((image) => ({ image, label: classes.indexOf(classOf(image)) })), testImages },
    trained: images.length - testImages,
    subject: "Class",
    description:
      `Learns from four fifths of ${counted(images.length, "image")} of ${classes.length} classes ` +
      `(${classes.map((name, at) => `${at}: ${name}`).join(", ")}), and is judged by the ${judges}; Fair-CCLK is told ` +
      `the mean colour of each.${omission}`,
    omission,
    omitted: [...unreadable, ...unsuitable].map(pathOf),
    files,
  };
}

/** The same source without the files that hold no image; `undefined` if there are none of these. */
export async function withoutUnreadable({ files }: Source, signal: AbortSignal): Promise<Source | undefined> {
  const images = sorted(files).filter(isImage);
  const read = await decodeEach(images, closed, { signal });
  const unreadable = images.filter((_, at) => !read[at]);
  return unreadable.length === 0 ? undefined : ofFolder(files, unreadable);
}

/** Closes a picture that could be decoded. */
async function closed(picture: ImageBitmap): Promise<true> {
  picture.close();
  return true;
}

/** The folder of an image below the chosen one. */
function classOf(file: File): string {
  return pathOf(file).split("/").slice(1, -1).join("/");
}

/** Throws for the parts of a data set, in which a class would be one class in each part. */
function checkParts(classes: readonly string[]): void {
  const parts = [...new Set(classes.map((name) => name.split("/")[0] ?? ""))];
  const areParts = parts.length > 1 && parts.every((part) => SPLITS.test(part));
  if (!areParts || classes.some((name) => !name.includes("/"))) return;
  const named = parts.join(", ");
  throw new Error(`That folder holds the parts of a data set (${named}), each with classes. Choose one; this page holds images out.`);
}

/** Says what is left out, in sentences that follow another one. */
function omissionOf(unreadable: readonly File[], others: readonly File[]): string {
  const damaged = leftOut(unreadable.map(pathOf), UNREADABLE);
  const unsuitable = leftOut(others.map(pathOf), "no image to this browser, or not in the folder of a class");
  return [damaged, unsuitable].map((sentence) => sentence && ` ${sentence}`).join("");
}
