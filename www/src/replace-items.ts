/** Replaces the items of a list; the button that takes the place of a focused one gets the focus. */
export function replaceItems(list: HTMLElement, items: readonly HTMLElement[]): void {
  const focused = [...list.children].findIndex((item) => item.contains(document.activeElement));
  list.replaceChildren(...items);
  if (focused < 0) return;
  const successor = items[Math.min(focused, items.length - 1)];
  // Nothing is scrolled: the visitor did not move.
  successor?.querySelector("button")?.focus({ preventScroll: true });
}
