// The images nearest to the query, as a list of buttons.
import { neighbourItem } from "../neighbour-item.js";
import { replaceItems } from "../replace-items.js";
import type { Neighbour } from "../space.js";
import type { Collection } from "./collection.js";

export class Nearest {
  constructor(
    private readonly list: HTMLElement,
    private readonly onChoose: (index: number) => void,
  ) {}

  show(neighbours: readonly Neighbour[], collection: Collection): void {
    const items = neighbours.map((neighbour) => this.#item(neighbour, collection));
    replaceItems(this.list, items);
  }

  #item({ index, similarity }: Neighbour, { names, thumbnails }: Collection): HTMLElement {
    const name = names[index] ?? "";
    const view = { name, similarity, image: thumbnails[index] };
    const { item, button } = neighbourItem(view, () => this.onChoose(index));
    button.title = name;
    return item;
  }
}
