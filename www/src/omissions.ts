// Says which files a page left out.
import { MOST_PIXELS } from "simile-web";
import { createElement } from "./create-element.js";
import { element } from "./element.js";
import { counted } from "./words.js";

/** True for a file that this browser takes for an image by its name. */
export const isImage = ({ type }: File): boolean => type.startsWith("image/");

/** Why an image of a visitor cannot be decoded. */
export const UNREADABLE = `no image could be read, or one of more than ${Math.floor(MOST_PIXELS / 1e6)} million pixels`;

/** The paths without those of hidden files, which nobody chose. */
const visible = (paths: readonly string[]) => paths.filter((path) => !path.split("/").at(-1)?.startsWith("."));

/** A sentence on files that were left out, by their paths. */
export function leftOut(paths: readonly string[], reason: string): string {
  const [first, ...others] = visible(paths);
  if (first === undefined) return "";
  if (others.length === 0) return `${first} was left out: ${reason}.`;
  return `${counted(1 + others.length, "file")}, such as ${first}, were left out: ${reason}.`;
}

/** Lists the files that were left out, where a sentence may not name them all. */
export function listLeftOut(paths: readonly string[]): void {
  const files = visible(paths);
  element("left-out", HTMLDetailsElement).hidden = files.length < 2;
  element("left-out-files", HTMLUListElement).replaceChildren(...files.map((path) => createElement("li", "", path)));
}
