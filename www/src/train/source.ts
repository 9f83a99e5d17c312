// The training images: digits that the page draws, or a folder of the visitor with a subfolder for each class.
import { decodeImage, type TrainerOptions } from "simile-web";
import { pathOf, sorted } from "../paths.js";
import { counted } from "../words.js";

/** Training images with their descriptions. */
export interface Source {
  readonly options: Pick<TrainerOptions, "images" | "testImages">;
  /** The target of the probe, as a heading. */
  readonly subject: "Digit" | "Class";
  readonly description: string;
  /** Says which files are left out, if any are. */
  readonly omission: string;
  /** Files that have to be decoded. */
  readonly files: readonly File[];
}

const DIGITS = 4096;
const TEST_DIGITS = 1000;

/** Images that are decoded at once. */
const CHUNK = 16;

/** Digits that core draws. */
export const DRAWN: Source = {
  options: { images: DIGITS, testImages: TEST_DIGITS },
  subject: "Digit",
  description:
    `Learns from ${counted(DIGITS, "digit")} that this page draws, and is judged by ${TEST_DIGITS.toLocaleString("en")} ` +
    "others. A folder of yours can be chosen, or dropped on this page: each class is a folder in it, and what is set " +
    "aside is the mean colour of an image.",
  omission: "",
  files: [],
};

/** The images of a folder; each subfolder is a class. `unreadable` are files that were left out. */
export function ofFolder(files: readonly File[], unreadable: readonly File[] = []): Source {
  const images = sorted(files).filter((file) => file.type.startsWith("image/") && classOf(file) !== "");
  const classes = [...new Set(images.map(classOf))].sort();
  const omission = omissionOf(unreadable);
  if (classes.length < 2) {
    throw new Error(`That folder has no two folders of images in it, one for each class.${omission}`);
  }
  return {
    options: { images: images.map((image) => ({ image, label: classes.indexOf(classOf(image)) })) },
    subject: "Class",
    description:
      `Learns from four fifths of ${counted(images.length, "image")} of ${classes.length} classes ` +
      `(${classes.map((name, at) => `${at}: ${name}`).join(", ")}), and is judged by the rest; what Fair-CCLK is told ` +
      `is the mean colour of each.${omission}`,
    omission,
    files: images,
  };
}

/** The same source without the files that hold no image; `undefined` if there are none of these. */
export async function withoutUnreadable({ files }: Source, signal: AbortSignal): Promise<Source | undefined> {
  const unreadable: File[] = [];
  for (let at = 0; at < files.length; at += CHUNK) {
    signal.throwIfAborted();
    const chunk = files.slice(at, at + CHUNK);
    const read = await Promise.all(chunk.map(isReadable));
    unreadable.push(...chunk.filter((_, index) => !read[index]));
  }
  if (unreadable.length === 0) return undefined;
  return ofFolder(
    files.filter((file) => !unreadable.includes(file)),
    unreadable,
  );
}

async function isReadable(file: File): Promise<boolean> {
  try {
    (await decodeImage(file)).close();
    return true;
  } catch {
    return false;
  }
}

/** The folder of an image below the chosen one. */
function classOf(file: File): string {
  return pathOf(file).split("/").slice(1, -1).join("/");
}

function omissionOf([first, ...others]: readonly File[]): string {
  if (!first) return "";
  const name = pathOf(first);
  return others.length === 0
    ? ` No image could be read from ${name}, which is left out.`
    : ` No image could be read from ${counted(1 + others.length, "file")}, such as ${name}; they are left out.`;
}
