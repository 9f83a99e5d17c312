/** The element with an id; throws if it is not of the given kind. */
export function element<T extends Element>(id: string, kind: new () => T): T {
  const node = document.getElementById(id);
  if (!(node instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return node;
}

/** Writes a live text, unless it is the same: a screen reader would speak it again. */
export function setText(id: string, text: string): void {
  const line = element(id, HTMLElement);
  if (line.textContent !== text) line.textContent = text;
}
