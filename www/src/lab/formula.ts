// A formula on the page, with its current values.
import type { Catalogue, Choice } from "./catalogue.js";
import { formulaOf } from "./formulas.js";
import { equation, live, mi, mo } from "./mathml.js";
import { format, type Settings, valueOf } from "./settings.js";
import type { Verdict } from "./side.js";

export class FormulaView {
  readonly element = document.createElement("div");
  readonly #math = document.createElement("div");
  readonly #where = document.createElement("p");
  #shown = "";

  constructor() {
    this.element.className = "formula";
    // It can be wider than a phone, and then scrolls.
    this.#math.className = "math";
    this.#math.tabIndex = 0;
    this.#math.setAttribute("role", "group");
    this.#math.setAttribute("aria-label", "Formula with its numbers");
    this.#where.className = "note";
    this.element.append(this.#math, this.#where);
  }

  show(catalogue: Catalogue, choice: Choice, settings: Settings, { loss, parts }: Verdict): void {
    const entry = catalogue.offered.get(choice.objective);
    const { positive, negative, whole, where } = entry ? formulaOf(choice.variant, entry) : {};
    const key = JSON.stringify([choice, parts !== undefined]);
    if (key !== this.#shown) {
      this.#shown = key;
      const inParts = parts && positive && negative;
      const terms = inParts
        ? [live(positive, "positive"), mo("+"), live(negative, "negative")]
        : [live(whole ?? (positive && negative ? `${positive}${mo("+")}${negative}` : mi("L")), "loss")];
      // The text is built from constants: no part of it comes from the address or from the visitor.
      this.#math.innerHTML = equation(mi("L"), mo("="), ...terms);
    }
    const values = { loss, ...parts };
    for (const place of this.#math.querySelectorAll<HTMLElement>("[data-live]")) {
      const value = values[place.dataset["live"] as keyof typeof values];
      place.textContent = value === undefined ? "" : signed(value);
    }
    const parameters = catalogue.parametersOf(choice);
    const symbols = parameters.map((one) => `${one.symbol ?? one.name} = ${format(valueOf(one, settings))}`);
    const usesCosines = parameters.some(({ name }) => name === "temperature");
    const shared = usesCosines ? ["s: cosine over τ"] : [];
    this.#where.textContent = [...symbols, ...shared, ...(where ? [where] : [])].join("; ");
  }
}

export function signed(value: number): string {
  return value.toFixed(3).replace("-", "−");
}
