// One network on the page: how far it is, what can be read off it, its map, and its file.
import type { MappedImages, Reading } from "simile-web";
import { make } from "../make.js";
import { Cloud, type Colouring } from "./cloud.js";

export class Panel {
  readonly element = make("section", "panel");
  readonly #cloud: Cloud;
  readonly #progress = make("progress");
  readonly #save = make("button", "", "Download the network");
  readonly #figures: Readonly<Record<"Step" | "Loss" | "Digit" | "Colour R²", HTMLElement>>;

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
    const heading = make("header", "heading");
    heading.append(make("h3", "", title), make("span", "about", note), this.#progress);

    const numbers = make("dl", "numbers");
    const figure = (name: string) => {
      const [entry, value] = [make("div"), make("dd")];
      entry.append(make("dt", "", name), value);
      numbers.append(entry);
      return value;
    };
    this.#figures = {
      Step: figure("Step"),
      Loss: figure("Loss"),
      Digit: figure("Digit"),
      "Colour R²": figure("Colour R²"),
    };
    const buttons = make("div", "buttons");
    buttons.append(this.#save);
    this.element.append(heading, numbers, this.#cloud.canvas, buttons);
    this.clear();
  }

  clear(): void {
    for (const value of Object.values(this.#figures)) value.textContent = "–";
    this.#cloud.clear();
    this.#progress.value = 0;
    this.allowSaving(false);
  }

  set colouring(colouring: Colouring) {
    this.#cloud.colouring = colouring;
  }

  allowSaving(isAllowed: boolean): void {
    this.#save.disabled = !isAllowed;
  }

  showStep(step: number, steps: number, loss: number): void {
    this.#progress.value = step / steps;
    this.#figures.Step.textContent = `${step} of ${steps}`;
    this.#figures.Loss.textContent = loss.toFixed(3);
  }

  showReading({ accuracy, leak, map }: Reading, images: MappedImages): void {
    const [digit, colour] = [`${(100 * accuracy).toFixed(1)} %`, leak.toFixed(3)];
    this.#figures.Digit.textContent = digit;
    this.#figures["Colour R²"].textContent = colour;
    this.#cloud.show(images, map, `a linear classifier names ${digit} of the digits; R² of the colour ${colour}`);
  }
}
