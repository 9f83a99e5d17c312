/** A new element with a class and a text. */
export function createElement<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = "",
  text = "",
): HTMLElementTagNameMap[K] {
  const created = document.createElement(name);
  if (className) created.className = className;
  created.textContent = text;
  return created;
}

/** An entry of a list of terms and values, and the element of the value, which is empty. */
export function createEntry(term: HTMLElement): { readonly entry: HTMLElement; readonly value: HTMLElement } {
  const [entry, value] = [createElement("div"), createElement("dd")];
  entry.append(term, value);
  return { entry, value };
}
