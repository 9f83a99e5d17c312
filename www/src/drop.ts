// Files that are dropped anywhere on the page, or pasted into it.

/** Calls `onFiles` with the files of each drop and paste. */
export function acceptFiles(onFiles: (files: readonly File[]) => void): void {
  let depth = 0;
  const mark = (change: number) => {
    depth = change === 0 ? 0 : depth + change;
    document.body.classList.toggle("dropping", depth > 0);
  };
  addEventListener("dragenter", () => mark(1));
  addEventListener("dragleave", () => mark(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    mark(0);
    onFiles([...(event.dataTransfer?.files ?? [])]);
  });
  addEventListener("paste", (event) => onFiles([...(event.clipboardData?.files ?? [])]));
}
