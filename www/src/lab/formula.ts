// A formula on the page, with its current values.
import type { ListedParameter } from "simile-web";
import type { Catalogue, Choice } from "./catalogue.js";
import { createElement } from "../create-element.js";
import { withMinus } from "../words.js";
import { type Settings, shown, valueOf } from "./settings.js";
import type { SideEvaluation } from "./side.js";

export class FormulaView {
  readonly element = createElement("div", "formula");
  // It can be wider than a phone, and then scrolls.
  readonly #math = createElement("div", "math");
  readonly #values = createElement("p", "values");
  readonly #where = createElement("p", "note");
  #shown = "";

  constructor() {
    this.#math.tabIndex = 0;
    this.#math.setAttribute("role", "group");
    this.#math.setAttribute("aria-label", "Formula");
    this.element.append(this.#math, this.#values, this.#where);
  }

  show(catalogue: Catalogue, choice: Choice, settings: Settings, { loss, parts }: SideEvaluation): void {
    const entry = catalogue.offered.get(choice.objective);
    if (!entry) return;
    const form = choice.variant || entry.variant;
    const key = JSON.stringify(choice);
    if (key !== this.#shown) {
      this.#shown = key;
      const { equations } = entry;
      const chosen = equations.find(({ variant }) => variant === form) ?? equations[0];
      // Core makes the text from constants: no part of it comes from the address or from the visitor.
      this.#math.innerHTML = chosen?.lines.join("") ?? "";
    }
    const terms = parts
      ? [part("attract", parts.positive), " + ", part("repel", parts.negative), ` = ${signed(loss)}`]
      : [signed(loss)];
    this.#values.replaceChildren("L = ", ...terms);
    const values = catalogue.parametersOf(choice).map((one) => valueIn(settings, one));
    const difference = catalogue.differenceOf(choice);
    const ofForm = difference ? `. As ${form}: ${difference}.` : "";
    this.#where.textContent = [...values, entry.symbols].join("; ") + ofForm;
  }
}

/** The value of a parameter; an unusual choice with its meaning, because the formula is that of the usual one. */
function valueIn(settings: Settings, parameter: ListedParameter): string {
  const { name, symbol, kind, meaning } = parameter;
  const value = valueOf(parameter, settings);
  const isUnusual = (kind === "flag" || kind === "choice") && value !== parameter.default;
  return `${symbol ?? name} = ${shown(value)}${isUnusual ? ` (${meaning})` : ""}`;
}

/** The contribution of the pairs that attract each other, or of the others. */
function part(kind: "attract" | "repel", value: number): HTMLElement {
  return createElement("span", kind, signed(value));
}

export function signed(value: number): string {
  return withMinus(value.toFixed(3));
}
