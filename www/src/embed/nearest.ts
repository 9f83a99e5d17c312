// The images nearest to the query, as a list of buttons.
import { createElement } from "../create-element.js";
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
    const [button, picture, bar] = [createElement("button"), createElement("canvas"), createElement("span", "bar")];
    button.type = "button";
    button.title = names[index] ?? "";
    button.setAttribute("aria-label", `${names[index]}, similarity ${similarity.toFixed(2)}`);
    button.addEventListener("click", () => this.onChoose(index));
    const thumbnail = thumbnails[index];
    if (thumbnail) {
      [picture.width, picture.height] = [thumbnail.width, thumbnail.height];
      picture.getContext("2d")?.drawImage(thumbnail, 0, 0);
    }
    bar.style.setProperty("--share", `${Math.max(similarity, 0) * 100}%`);
    button.append(picture, bar, createElement("span", "value", similarity.toFixed(2)));
    const item = createElement("li");
    item.append(button);
    return item;
  }
}
