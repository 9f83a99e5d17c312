// Files that are chosen, dropped anywhere on the page, alone or in folders, or pasted into it.
import { element } from "./element.js";
import { say } from "./status.js";
import { messageOf } from "./words.js";

/** Calls `action` with the files of each choice in an input, which is returned; the same files can be chosen again. */
export function onFiles(id: string, action: (files: readonly File[]) => void): HTMLInputElement {
  const input = element(id, HTMLInputElement);
  input.addEventListener("change", () => {
    action([...(input.files ?? [])]);
    input.value = "";
  });
  return input;
}

/** Calls `onFiles` with the files of each drop and paste. */
export function acceptFiles(onFiles: (files: readonly File[]) => void): void {
  let depth = 0;
  const mark = (change: number) => {
    depth = change === 0 ? 0 : depth + change;
    document.body.classList.toggle("dropping", depth > 0);
  };
  addEventListener("dragenter", (event) => hasFiles(event) && mark(1));
  addEventListener("dragleave", (event) => hasFiles(event) && mark(-1));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    // A text may be dropped into a field.
    if (!event.dataTransfer || !hasFiles(event)) return;
    event.preventDefault();
    mark(0);
    filesOf(event.dataTransfer).then(onFiles, (error: unknown) => {
      say(`The dropped files cannot be read: ${messageOf(error)}`, "error");
    });
  });
  addEventListener("paste", (event) => onFiles([...(event.clipboardData?.files ?? [])]));
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes("Files") ?? false;
}

/** All files of a drop, those in folders too. */
async function filesOf({ items, files }: DataTransfer): Promise<File[]> {
  // The list is empty after this event: the entries are read before the first `await`.
  const plain = [...files];
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (!entries.some(({ isDirectory }) => isDirectory)) return plain;
  return (await Promise.all(entries.map(walk))).flat();
}

/** The files of an entry. Not every browser has classes that distinguish files from folders. */
async function walk(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    // As for a chosen folder: the path gives the class of an image and identifies the file.
    const webkitRelativePath = entry.fullPath.replace(/^\//, "");
    return [Object.defineProperty(file, "webkitRelativePath", { value: webkitRelativePath })];
  }
  if (!entry.isDirectory) return [];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const files: File[] = [];
  // A folder is read in portions; the last one is empty.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return files;
    files.push(...(await Promise.all(some.map(walk))).flat());
  }
}
