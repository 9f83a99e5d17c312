// One objective with the samples that it moves.
import type { LossLab, Rows } from "simile-web";
import type { Catalogue, Choice } from "./catalogue.js";
import { add, length, unit } from "./rows.js";
import { copy, type Samples } from "./samples.js";
import type { Settings } from "./settings.js";

/** Both sides in texts, in their order. */
export const NAMES = ["left", "right"] as const;

/** The evaluation of samples by core. */
export interface Verdict {
  /** The samples that were evaluated: those of the side may have moved on. */
  readonly samples: Samples;
  readonly loss: number;
  /** Reasons why it is meaningless though it is a number. */
  readonly warnings: readonly string[];
  /** The contributions of the positive pairs and of the rest, where the objective has both. */
  readonly parts?: { readonly positive: number; readonly negative: number };
  /** Gradients of both views, tangent to the sphere. */
  readonly gradients: readonly [Rows, Rows];
  /** The forces between all points, first views first, where the objective is a function of pairs. */
  readonly forces?: Rows;
}

/** Largest step of the steepest point, in radians, and largest multiple of its gradient. */
const LONGEST_STEP = 0.08;
const RATE = 1.5;

export class Side {
  verdict: Verdict | undefined;

  constructor(
    readonly lab: LossLab,
    public samples: Samples,
    public choice: Choice,
  ) {}

  /** Evaluates the samples. `withForces` costs a second evaluation. */
  async evaluate(catalogue: Catalogue, settings: Settings, kernel: string, withForces: boolean): Promise<Verdict> {
    const { lab, choice } = this;
    // Changes of the samples while core computes belong to the next evaluation.
    const samples = copy(this.samples);
    const [a, b] = samples.views;
    const inputs = catalogue.inputsOf(choice, samples);
    lab.configure(catalogue.settingOf(choice, settings, kernel));
    const forces = withForces ? lab.forces(a, b, inputs).catch(() => undefined) : undefined;
    const { loss, gradA, gradB, aux, warnings } = await lab.evaluate(a, b, inputs);
    const { positive, negative } = aux;
    const forceRows = await forces;
    this.verdict = {
      samples,
      loss,
      warnings,
      gradients: [gradA, gradB],
      ...(typeof positive === "number" && typeof negative === "number" && { parts: { positive, negative } }),
      ...(forceRows && { forces: forceRows }),
    };
    return this.verdict;
  }

  /** The samples that the verdict is about. */
  get evaluated(): Samples {
    return this.verdict?.samples ?? this.samples;
  }

  /** Length of the steepest gradient, for the scale of arrows. */
  get steepest(): number {
    return Math.max(0, ...(this.verdict?.gradients.flat().map(length) ?? []));
  }

  /** Moves every point a step down its gradient, along the sphere. */
  descend(): void {
    if (!this.verdict) return;
    const count = this.samples.hues.length;
    const steepest = this.steepest * count;
    const rate = Math.min(RATE, LONGEST_STEP / (steepest || 1)) * count;
    for (const [view, gradients] of this.verdict.gradients.entries()) {
      const rows = this.samples.views[view];
      gradients.forEach((gradient, at) => {
        const row = rows?.[at];
        if (rows && row) rows[at] = unit(add(row, gradient, -rate));
      });
    }
  }
}
