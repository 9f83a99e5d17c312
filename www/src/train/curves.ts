// The charts of a run: loss, digit and colour of both networks over the steps.
import { Chart } from "../chart.js";
import type { Point } from "../shapes.js";

/** The titles of both networks. */
export const TITLES = ["SimCLR", "Fair-CCLK"] as const;

type Curve = "loss" | "accuracy" | "leak";

const SHARES = [0, 1] as const;

/** The smallest range of the axis of a loss: below that of a network which tells none of the other views of a step apart. */
function lossesOf(batch: number): readonly [number, number] {
  const unlearnt = Math.log(2 * batch - 1);
  return [unlearnt - 2, unlearnt - 1];
}

const CURVE_TITLES: Readonly<Record<Curve, string>> = {
  loss: "Loss",
  accuracy: "Images whose class is named",
  leak: "Colour that is left: R²",
};

const CURVES = Object.keys(CURVE_TITLES) as Curve[];

export class Curves {
  readonly #charts: Readonly<Record<Curve, Chart>>;
  #paths = empty();

  constructor() {
    const chart = (curve: Curve) =>
      new Chart({ title: CURVE_TITLES[curve], across: "step", up: "", x: [0, 1], y: SHARES, sides: TITLES });
    this.#charts = { loss: chart("loss"), accuracy: chart("accuracy"), leak: chart("leak") };
  }

  get elements(): readonly HTMLElement[] {
    return Object.values(this.#charts).map(({ element }) => element);
  }

  /** Begins anew, for a run of so many steps with so many images each. */
  clear(steps: number, batch: number): void {
    this.#paths = empty();
    for (const curve of CURVES) {
      this.#charts[curve].clear({ x: [0, steps], y: curve === "loss" ? lossesOf(batch) : SHARES });
    }
  }

  note(curve: Curve, side: 0 | 1, step: number, value: number): void {
    this.#paths[curve][side].push([step, value]);
    this.#charts[curve].show(this.#paths[curve]);
  }
}

function empty(): Readonly<Record<Curve, readonly [Point[], Point[]]>> {
  return { loss: [[], []], accuracy: [[], []], leak: [[], []] };
}
