// The forces between all points, of both sides, as heat maps.
import type { Rows } from "simile-web";
import { element, setText } from "../element.js";
import { withMinus } from "../words.js";
import { type Cell, Heatmap, NO_CELL, rangeOf } from "./heatmap.js";
import { byHue } from "./samples.js";
import type { Side } from "./side.js";
import { SIDES } from "./sides.js";

export class PairPanel {
  readonly #details = element("pairs", HTMLDetailsElement);
  readonly #maps: readonly Heatmap[];
  #sides: readonly Side[] = [];
  /** Points in the order shown: rows of the first and then the second views. */
  #order: number[] = [];
  #cell: Cell | undefined;

  /** `onPoint` is called with the point of the row under the pointer, `onOpen` when the panel needs forces. */
  constructor(
    private readonly onPoint: (row: number | undefined) => void,
    onOpen: () => void,
  ) {
    this.#maps = SIDES.map((name) => {
      const map = new Heatmap(`Weights of all pairs, ${name}`, "pair", (cell) => this.#point(cell));
      element(`${name}-pairs`, HTMLElement).append(map.canvas);
      return map;
    });
    this.#details.addEventListener("toggle", () => {
      // The maps answer to the keyboard before their forces are there.
      this.#show();
      if (this.isOpen) onOpen();
    });
  }

  get isOpen(): boolean {
    return this.#details.open;
  }

  show(sides: readonly Side[]): void {
    this.#sides = sides;
    const hues = sides[0]?.samples.hues ?? [];
    this.#order = byHue(hues).flatMap((sample) => [sample, sample + hues.length]);
    this.#show();
  }

  #point(cell: Cell | undefined): void {
    this.#cell = cell;
    this.onPoint(cell && this.#order[cell[0]]);
    this.#show();
  }

  #show(): void {
    if (!this.isOpen) return;
    const forces = this.#sides.map(({ evaluation }) => evaluation?.forces && betweenPairs(evaluation.forces));
    this.#sides.forEach(({ samples }, side) => {
      const values = forces[side];
      const largest = Math.max(1e-12, ...(values?.flat().map(Math.abs) ?? []));
      // Teal means attraction as in the arenas, and attraction is below 0.
      const shown = values?.map((row) => row.map((force) => -force)) ?? [];
      const hues = [...samples.hues, ...samples.hues];
      this.#maps[side]?.show({ values: shown, order: this.#order, hues, cell: this.#cell, largest });
      const range = values ? rangeOf(values.flat()) : "no weights of pairs";
      element(`${SIDES[side] ?? "left"}-range`, HTMLElement).textContent = range;
    });
    setText("pair", this.#describe(forces));
  }

  #describe(forces: readonly (Rows | undefined)[]): string {
    if (!this.#cell) return NO_CELL;
    const count = this.#order.length / 2;
    const [i, j] = this.#cell.map((at) => this.#order[at] ?? 0) as [number, number];
    const name = (row: number) => `sample ${(row % count) + 1} (${row < count ? "first" : "second"} view)`;
    const values = SIDES.map((side, at) => `${side} ${withMinus(forces[at]?.[i]?.[j]?.toPrecision(3) ?? "none")}`);
    return `Between ${name(i)} and ${name(j)}: ${values.join(", ")}.`;
  }
}

/** The forces without the diagonal: a point is not a pair with itself. */
function betweenPairs(forces: Rows): number[][] {
  return forces.map((row, i) => row.map((force, j) => (i === j ? 0 : force)));
}
