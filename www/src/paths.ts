// Paths and order of the files of a folder, which a browser returns in any order.

/** The path below the folder that was chosen; the name of a file that was chosen itself. */
export function pathOf({ webkitRelativePath, name }: File): string {
  return webkitRelativePath || name;
}

/** The files in the order of their paths: the same folder gives the same order everywhere. */
export function sorted(files: readonly File[]): File[] {
  return [...files].sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
}
