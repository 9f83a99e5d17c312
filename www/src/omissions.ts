// Says which files a page left out.
import { counted } from "./words.js";

/** True for a file that this browser takes for an image by its name. */
export const isImage = ({ type }: File): boolean => type.startsWith("image/");

/** A sentence on files that were left out, by their paths; hidden ones, which nobody chose, are not named. */
export function leftOut(paths: readonly string[], reason: string): string {
  const [first, ...others] = paths.filter((path) => !path.split("/").at(-1)?.startsWith("."));
  if (first === undefined) return "";
  if (others.length === 0) return `${first} was left out: ${reason}.`;
  return `${counted(1 + others.length, "file")}, such as ${first}, were left out: ${reason}.`;
}
