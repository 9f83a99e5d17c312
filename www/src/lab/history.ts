// The figures of both sides over the steps of descent, and their charts.
import { Chart, type Paths } from "../chart.js";
import type { Steps } from "../slices.js";
import type { Figures } from "./measure.js";
import { SIDES } from "./sides.js";
import type { Picture, Point } from "../shapes.js";

/** Longest history; beyond it the steps are thinned out, because a chart has no more columns. */
const LONGEST = 600;

export class History {
  readonly #plane = new Chart({
    title: "Alignment and uniformity",
    across: "alignment",
    up: "uniformity",
    x: [0, 0.4],
    y: [-2, 0],
    sides: SIDES,
  });
  readonly #series = [
    { name: "alignment", chart: series("Alignment", [0, 0.4]) },
    { name: "uniformity", chart: series("Uniformity", [-2, 0]) },
    { name: "sharedColour", chart: series("Shared colour: the leak", [-0.2, 1]) },
  ] as const;
  #steps: (readonly [Figures, Figures])[] = [];
  #stride = 1;
  #count = 0;

  get elements(): readonly HTMLElement[] {
    return [this.#plane, ...this.#series.map(({ chart }) => chart)].map(({ element }) => element);
  }

  get pictures(): readonly Picture[] {
    return [this.#plane.picture()];
  }

  /** Starts again at these figures. */
  restart(figures: readonly [Figures, Figures]): Steps<void> {
    [this.#steps, this.#stride, this.#count] = [[figures], 1, 0];
    return this.show();
  }

  /** Records the figures after a step. */
  note(figures: readonly [Figures, Figures]): void {
    this.#count++;
    if (this.#count % this.#stride === 0) this.#steps.push(figures);
    if (this.#steps.length > LONGEST) {
      this.#steps = this.#steps.filter((_, at) => at % 2 === 0);
      this.#stride *= 2;
    }
  }

  *show(): Steps<void> {
    const paths = (point: (figures: Figures, at: number) => Point): Paths => {
      const path = (side: 0 | 1) => this.#steps.map((step, at) => point(step[side], at));
      return [path(0), path(1)];
    };
    this.#plane.show(paths(({ alignment, uniformity }) => [alignment, uniformity]));
    for (const { name, chart } of this.#series) {
      yield;
      chart.show(paths((figures, at) => [at * this.#stride, figures[name]]));
    }
  }
}

function series(title: string, y: readonly [number, number]): Chart {
  return new Chart({ title, across: "step", up: "", x: [0, 50], y, sides: SIDES });
}
