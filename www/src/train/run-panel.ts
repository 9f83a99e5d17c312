// One network on the page: its progress, the results of its probes, its map, and its file.
import type { MappedImages, Reading } from "simile-web";
import { createElement, createEntry } from "../create-element.js";
import { withMinus } from "../words.js";
import { Cloud, type Colouring } from "./cloud.js";

export class RunPanel {
  readonly element = createElement("section", "panel");
  readonly #cloud: Cloud;
  readonly #progress = createElement("progress");
  readonly #save = createElement("button", "", "Download the network");
  readonly #subject = createElement("dt");
  readonly #figures: Readonly<Record<"step" | "loss" | "accuracy" | "leak", HTMLElement>>;

  constructor(
    readonly side: "left" | "right",
    title: string,
    note: string,
    onSave: () => void,
  ) {
    this.element.dataset["side"] = side;
    this.element.setAttribute("aria-label", title);
    this.#cloud = new Cloud(title);
    this.#progress.setAttribute("aria-label", `Steps of ${title}`);
    this.#save.type = "button";
    this.#save.addEventListener("click", onSave);
    const heading = createElement("header", "heading");
    heading.append(createElement("h3", "", title), createElement("span", "about", note), this.#progress);

    const numbers = createElement("dl", "numbers");
    const figure = (term: HTMLElement) => {
      const { entry, value } = createEntry(term);
      numbers.append(entry);
      return value;
    };
    this.#figures = {
      step: figure(createElement("dt", "", "Step")),
      loss: figure(createElement("dt", "", "Loss")),
      accuracy: figure(this.#subject),
      leak: figure(createElement("dt", "", "Colour R²")),
    };
    const buttons = createElement("div", "buttons");
    buttons.append(this.#save);
    this.element.append(heading, numbers, this.#cloud.canvas, buttons);
    this.clear();
  }

  clear(): void {
    for (const value of Object.values(this.#figures)) value.textContent = "–";
    this.#cloud.clear();
    this.#progress.value = 0;
    this.#save.disabled = true;
  }

  /** The target of the probe. */
  set subject(subject: string) {
    this.#subject.textContent = subject;
  }

  set colouring(colouring: Colouring) {
    this.#cloud.colouring = colouring;
  }

  /** Lets the network be downloaded, until `clear`. */
  allowSaving(): void {
    this.#save.disabled = false;
  }

  showStep(step: number, steps: number, loss: number): void {
    this.#progress.value = step / steps;
    this.#figures.step.textContent = `${step} of ${steps}`;
    this.#figures.loss.textContent = loss.toFixed(3);
  }

  showReading({ accuracy, leak, map }: Reading, images: MappedImages): void {
    const [named, colour] = [`${(100 * accuracy).toFixed(1)} %`, withMinus(leak.toFixed(3))];
    this.#figures.accuracy.textContent = named;
    this.#figures.leak.textContent = colour;
    this.#cloud.show(images, map, `a linear classifier names ${named} of the images; R² of the colour ${colour}`);
  }
}
