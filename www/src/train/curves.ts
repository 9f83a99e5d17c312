// The charts of a run: loss, digit and colour of both networks over the steps.
import { Chart } from "../chart.js";
import type { Point } from "../shapes.js";

export const SIDES = ["SimCLR", "Fair-CCLK"] as const;

/** Smallest range of the axis of the loss. */
const LOSSES = [3.5, 4.5] as const;

type Curve = "loss" | "accuracy" | "leak";

export class Curves {
  readonly #charts: Readonly<Record<Curve, Chart>>;
  readonly #paths: Readonly<Record<Curve, readonly [Point[], Point[]]>> = {
    loss: [[], []],
    accuracy: [[], []],
    leak: [[], []],
  };

  constructor(steps: number) {
    const chart = (title: string, y: readonly [number, number]) =>
      new Chart({ title, across: "step", up: "", x: [0, steps], y, sides: SIDES });
    this.#charts = {
      loss: chart("Loss", LOSSES),
      accuracy: chart("Images whose class is named", [0, 1]),
      leak: chart("Colour that is left: R²", [0, 1]),
    };
  }

  get elements(): readonly HTMLElement[] {
    return Object.values(this.#charts).map(({ element }) => element);
  }

  note(curve: Curve, side: 0 | 1, step: number, value: number): void {
    this.#paths[curve][side].push([step, value]);
    this.#charts[curve].show(this.#paths[curve]);
  }
}
