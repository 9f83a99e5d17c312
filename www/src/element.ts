/** The element with an id; throws if it is not of the given kind. */
export function element<T extends Element>(id: string, kind: new () => T): T {
  const node = document.getElementById(id);
  if (!(node instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return node;
}
