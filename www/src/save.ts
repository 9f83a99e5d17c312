/** Downloads a file. */
export function saveFile(name: string, type: string, content: BlobPart): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  // Revoked later, because the download may not have begun.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
