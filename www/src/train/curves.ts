// The charts of a run: loss, digit and colour of both networks over the steps.
import { Chart } from "../chart.js";
import type { Point } from "../shapes.js";

export const SIDES = ["SimCLR", "Fair-CCLK"] as const;

type Curve = "loss" | "accuracy" | "leak";

/** Smallest ranges of the axes. */
const RANGES: Readonly<Record<Curve, readonly [number, number]>> = {
  loss: [3.5, 4.5],
  accuracy: [0, 1],
  leak: [0, 1],
};

const TITLES: Readonly<Record<Curve, string>> = {
  loss: "Loss",
  accuracy: "Images whose class is named",
  leak: "Colour that is left: R²",
};

const CURVES = Object.keys(TITLES) as Curve[];

export class Curves {
  readonly #charts: Readonly<Record<Curve, Chart>>;
  #paths = empty();

  constructor() {
    const chart = (curve: Curve) =>
      new Chart({ title: TITLES[curve], across: "step", up: "", x: [0, 1], y: RANGES[curve], sides: SIDES });
    this.#charts = { loss: chart("loss"), accuracy: chart("accuracy"), leak: chart("leak") };
  }

  get elements(): readonly HTMLElement[] {
    return Object.values(this.#charts).map(({ element }) => element);
  }

  /** Begins anew, for a run of so many steps. */
  clear(steps: number): void {
    this.#paths = empty();
    for (const curve of CURVES) this.#charts[curve].clear({ x: [0, steps], y: RANGES[curve] });
  }

  note(curve: Curve, side: 0 | 1, step: number, value: number): void {
    this.#paths[curve][side].push([step, value]);
    this.#charts[curve].show(this.#paths[curve]);
  }
}

function empty(): Readonly<Record<Curve, readonly [Point[], Point[]]>> {
  return { loss: [[], []], accuracy: [[], []], leak: [[], []] };
}
