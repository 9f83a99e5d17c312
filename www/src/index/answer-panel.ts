// The panel of one encoder on the page, with its answers.
import { BACKGROUNDS } from "../background.js";
import { createElement } from "../create-element.js";
import { neighbourItem } from "../neighbour-item.js";
import { replaceItems } from "../replace-items.js";
import type { Neighbour } from "../space.js";
import type { Gallery } from "./gallery.js";
import type { Answer, Model, Origin } from "./model.js";

/** The labels of the query; unknown ones are `undefined`. */
export interface Query {
  readonly digit: number | undefined;
  readonly background: number | undefined;
}

export class AnswerPanel {
  readonly element = createElement("article", "panel");
  readonly #neighbours = createElement("ol", "neighbours");
  readonly #verdict = createElement("p", "verdict");
  readonly #tally = createElement("p", "note");

  constructor(
    { title, note }: Origin,
    private readonly onChoose: (index: number) => void,
  ) {
    const heading = createElement("h3", "", title);
    const about = createElement("span", "about", note);
    const top = createElement("header", "heading");
    top.append(heading, about);
    this.#neighbours.setAttribute("aria-label", `Most alike for ${title}, nearest first`);
    this.#verdict.setAttribute("aria-live", "polite");
    this.element.append(top, this.#neighbours, this.#verdict, this.#tally);
  }

  /** Shows the reason for which the panel waits. */
  wait(text: string): void {
    this.#tally.textContent = text;
  }

  /** Shows the statistics of the encoder on the whole gallery. */
  introduce({ tally }: Model, gallery: Gallery): void {
    this.#tally.textContent =
      `Of the neighbours of all ${gallery.images.length} images, ${percent(tally.digit)} show the same digit and ` +
      `${percent(tally.background)} have the same background; by chance it would be 10 % of either.`;
  }

  show({ neighbours }: Answer, gallery: Gallery, query: Query): void {
    const items = neighbours.map((neighbour) => this.#item(neighbour, gallery));
    replaceItems(this.#neighbours, items);
    this.#verdict.textContent = verdict(neighbours, gallery, query);
  }

  clear(): void {
    this.#neighbours.replaceChildren();
    this.#verdict.textContent = "";
  }

  #item({ index, similarity }: Neighbour, gallery: Gallery): HTMLElement {
    const view = { name: gallery.nameOf(index), similarity, image: gallery.images[index] };
    return neighbourItem(view, () => this.onChoose(index)).item;
  }
}

/** One sentence on the agreement of the neighbours with each other and with the query. */
function verdict(neighbours: readonly Neighbour[], gallery: Gallery, { digit, background }: Query): string {
  const count = neighbours.length;
  const labels = neighbours.map(({ index }) => gallery.labels[index] ?? 0);
  const shown = digit ?? mostFrequent(labels);
  const same = labels.filter((label) => label === shown).length;
  const digits = `${same} of ${count} show ${shown === 8 ? "an" : "a"} ${shown}`;
  if (background === undefined) return `${digits}.`;
  const near = neighbours.filter(({ index }) => gallery.backgrounds[index] === background).length;
  return `${digits}; ${near} of ${count} lie on ${BACKGROUNDS[background]?.[0] ?? "that background"}.`;
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
