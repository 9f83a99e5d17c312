// A neighbour of a query in a list.
import { createElement } from "./create-element.js";

interface NeighbourView {
  readonly name: string;
  readonly similarity: number;
  readonly image: ImageBitmap | undefined;
}

/** An item with a button that makes the neighbour the next query; the button is returned too. */
export function neighbourItem({ name, similarity, image }: NeighbourView, onChoose: () => void) {
  const [item, button, picture, bar] = [
    createElement("li"),
    createElement("button"),
    createElement("canvas"),
    createElement("span", "bar"),
  ];
  button.type = "button";
  button.setAttribute("aria-label", `${name}, similarity ${similarity.toFixed(2)}`);
  button.addEventListener("click", onChoose);
  if (image) {
    [picture.width, picture.height] = [image.width, image.height];
    picture.getContext("2d")?.drawImage(image, 0, 0);
  }
  bar.style.setProperty("--share", `${Math.max(similarity, 0) * 100}%`);
  button.append(picture, bar, createElement("span", "value", similarity.toFixed(2)));
  item.append(button);
  return { item, button };
}
