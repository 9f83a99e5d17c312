// What one encoder answers, as a part of the page.
import type { Answer, Contender, Origin } from "./contender.js";
import type { Gallery } from "./gallery.js";
import { GROUNDS } from "./ground.js";
import { make } from "./make.js";
import type { Neighbour } from "./space.js";

/** What is known of the query, as far as it is known. */
export interface Query {
  readonly digit: number | undefined;
  readonly ground: number | undefined;
}

export class Panel {
  readonly element = make("article", "panel");
  readonly #neighbours = make("ol", "neighbours");
  readonly #verdict = make("p", "verdict");
  readonly #tally = make("p", "note");

  constructor(
    { title, note }: Origin,
    private readonly onChoose: (index: number) => void,
  ) {
    const heading = make("h3", "", title);
    const about = make("span", "about", note);
    const top = make("header", "heading");
    top.append(heading, about);
    this.#neighbours.setAttribute("aria-label", `Most alike for ${title}, nearest first`);
    this.#verdict.setAttribute("aria-live", "polite");
    this.element.append(top, this.#neighbours, this.#verdict, this.#tally);
  }

  /** Says what the panel waits for. */
  wait(text: string): void {
    this.#tally.textContent = text;
  }

  /** Says what the encoder makes of the gallery as a whole. */
  introduce({ tally }: Contender, gallery: Gallery): void {
    this.#tally.textContent =
      `Of the neighbours of all ${gallery.images.length} images, ${percent(tally.digit)} show the same digit and ` +
      `${percent(tally.ground)} have the same ground; by chance it would be 10 % of either.`;
  }

  show({ neighbours }: Answer, gallery: Gallery, query: Query): void {
    this.#neighbours.replaceChildren(...neighbours.map((neighbour) => this.#item(neighbour, gallery)));
    this.#verdict.textContent = verdict(neighbours, gallery, query);
  }

  clear(): void {
    this.#neighbours.replaceChildren();
    this.#verdict.textContent = "";
  }

  /** A button that makes the neighbour the next query. */
  #item({ index, similarity }: Neighbour, gallery: Gallery): HTMLElement {
    const button = make("button");
    button.type = "button";
    const ground = GROUNDS[gallery.grounds[index] ?? 0]?.[0] ?? "";
    button.setAttribute("aria-label", `${gallery.labels[index]} on ${ground}, similarity ${similarity.toFixed(2)}`);
    button.addEventListener("click", () => this.onChoose(index));

    const picture = make("canvas");
    const image = gallery.images[index];
    if (image) {
      picture.width = image.width;
      picture.height = image.height;
      picture.getContext("2d")?.drawImage(image, 0, 0);
    }
    const bar = make("span", "bar");
    bar.style.setProperty("--share", `${Math.max(similarity, 0) * 100}%`);
    button.append(picture, bar, make("span", "value", similarity.toFixed(2)));
    const item = make("li");
    item.append(button);
    return item;
  }
}

/** One sentence on what the neighbours share with each other and with the query. */
function verdict(neighbours: readonly Neighbour[], gallery: Gallery, { digit, ground }: Query): string {
  const count = neighbours.length;
  const labels = neighbours.map(({ index }) => gallery.labels[index] ?? 0);
  const shown = digit ?? mostFrequent(labels);
  const same = labels.filter((label) => label === shown).length;
  const digits = `${same} of ${count} show ${shown === 8 ? "an" : "a"} ${shown}`;
  if (ground === undefined) return `${digits}.`;
  const near = neighbours.filter(({ index }) => gallery.grounds[index] === ground).length;
  return `${digits}; ${near} of ${count} lie on ${GROUNDS[ground]?.[0] ?? "that ground"}.`;
}

function mostFrequent(values: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [best] = [...counts].sort(([, a], [, b]) => b - a);
  return best?.[0] ?? 0;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
