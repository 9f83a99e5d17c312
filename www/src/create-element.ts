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
