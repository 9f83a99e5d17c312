// One side on the page: its objective, its arena, its formula and its figures.
import { createElement, createEntry } from "../create-element.js";
import { Arena, type ArenaActions } from "./arena.js";
import type { ArenaView } from "./arena-picture.js";
import type { Catalogue, Choice } from "./catalogue.js";
import { FormulaView, signed } from "./formula.js";
import { measure } from "./measure.js";
import type { Settings } from "./settings.js";

export class SidePanel {
  readonly element = createElement("section", "panel arena");
  readonly arena: Arena;
  readonly #objective = createElement("select");
  readonly #variant = createElement("select");
  readonly #formula = new FormulaView();
  readonly #numbers = createElement("dl", "numbers");

  constructor(
    side: string,
    private readonly catalogue: Catalogue,
    actions: ArenaActions,
    onChoice: (choice: Choice) => void,
  ) {
    this.arena = new Arena(side, actions);
    this.element.dataset["side"] = side;
    this.element.setAttribute("aria-label", `Objective on the ${side}`);
    this.#objective.setAttribute("aria-label", `Objective on the ${side}`);
    this.#variant.setAttribute("aria-label", `Variant of the objective on the ${side}`);
    for (const { title, name } of catalogue.offered.values()) this.#objective.append(new Option(title, name));
    this.#objective.addEventListener("change", () => onChoice({ objective: this.#objective.value, variant: "" }));
    this.#variant.addEventListener("change", () =>
      onChoice({ objective: this.#objective.value, variant: this.#variant.value }),
    );
    const choices = createElement("div", "buttons");
    choices.append(this.#objective, this.#variant);
    this.element.append(choices, this.arena.canvas, this.#formula.element, this.#numbers);
  }

  choose({ objective, variant }: Choice): void {
    this.#objective.value = objective;
    const { variants = [], variant: own } = this.catalogue.offered.get(objective) ?? {};
    const option = (name: string) => new Option(name === own ? `as ${name} (default)` : `as ${name}`, name);
    this.#variant.replaceChildren(...variants.map(option));
    this.#variant.value = variant || (own ?? "");
    this.#variant.hidden = variants.length === 0;
  }

  show(view: ArenaView, choice: Choice, settings: Settings): void {
    this.arena.show(view);
    this.#formula.show(this.catalogue, choice, settings, view.evaluation);
    const { alignment, uniformity, sharedColour } = measure(view.samples);
    const { loss, parts, gradients } = view.evaluation;
    const norm = Math.hypot(...gradients.flat(2));
    const figures = {
      Loss: signed(loss),
      "Positive part": parts ? signed(parts.positive) : "–",
      "Negative part": parts ? signed(parts.negative) : "–",
      "Gradient norm": norm.toPrecision(2),
      Alignment: signed(alignment),
      Uniformity: signed(uniformity),
      "Shared colour": signed(sharedColour),
    };
    this.#numbers.replaceChildren(...Object.entries(figures).map(([name, value]) => entryOf(name, value)));
  }
}

function entryOf(term: string, text: string): HTMLElement {
  const { entry, value } = createEntry(createElement("dt", "", term));
  value.textContent = text;
  return entry;
}
