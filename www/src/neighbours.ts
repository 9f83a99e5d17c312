// The list of the images that are most alike.
import type { Gallery, Neighbour } from "./gallery.js";

/** Writes the neighbours into a list; each is a button that makes it the next query. */
export function showNeighbours(
  list: HTMLElement,
  gallery: Gallery,
  neighbours: readonly Neighbour[],
  onChoose: (index: number) => void,
): void {
  list.replaceChildren(
    ...neighbours.map(({ index, similarity }) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-label", `a ${gallery.labels[index]}, similarity ${similarity.toFixed(2)}`);
      button.addEventListener("click", () => onChoose(index));

      const picture = document.createElement("canvas");
      const image = gallery.images[index];
      if (image) {
        picture.width = image.width;
        picture.height = image.height;
        picture.getContext("2d")?.drawImage(image, 0, 0);
      }
      const bar = document.createElement("span");
      bar.className = "bar";
      bar.style.setProperty("--share", `${Math.max(similarity, 0) * 100}%`);
      const value = document.createElement("span");
      value.className = "value";
      value.textContent = similarity.toFixed(2);
      button.append(picture, bar, value);

      const item = document.createElement("li");
      item.append(button);
      return item;
    }),
  );
}

/** One sentence on what the neighbours have in common. */
export function verdict(gallery: Gallery, neighbours: readonly Neighbour[]): string {
  const counts = new Map<number, number>();
  for (const { index } of neighbours) {
    const label = gallery.labels[index] ?? -1;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  const [best] = [...counts].sort(([, a], [, b]) => b - a);
  return best ? `${best[1]} of the ${neighbours.length} show a ${best[0]}.` : "";
}
