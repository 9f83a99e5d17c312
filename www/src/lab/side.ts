// One objective with the samples that it moves.
import type { Inputs, LossLab, Rows, WarningKind } from "simile-web";
import type { Catalogue, Choice } from "./catalogue.js";
import { add, length, unit } from "./rows.js";
import { copy, type Samples } from "./samples.js";
import type { Settings } from "./settings.js";

/** The evaluation of the samples of a side by core. */
export interface SideEvaluation {
  /** The samples that were evaluated: those of the side may have moved on. */
  readonly samples: Samples;
  readonly loss: number;
  /** Reasons why it is meaningless though it is a number. */
  readonly warnings: readonly string[];
  readonly warningKinds: readonly WarningKind[];
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
  evaluation: SideEvaluation | undefined;

  constructor(
    readonly lab: LossLab,
    public samples: Samples,
    public choice: Choice,
  ) {}

  /** Evaluates the samples. */
  async evaluate(catalogue: Catalogue, settings: Settings, kernel: string): Promise<void> {
    const { samples, inputs } = this.#configure(catalogue, settings, kernel);
    this.evaluation = await this.#evaluate(samples, inputs);
  }

  /** As `evaluate`, with the forces between all points, which are a second evaluation. */
  async evaluateWithForces(catalogue: Catalogue, settings: Settings, kernel: string): Promise<void> {
    const { samples, inputs } = this.#configure(catalogue, settings, kernel);
    const [a, b] = samples.views;
    const asked = this.lab.forces(a, b, inputs).catch(() => undefined);
    const evaluation = await this.#evaluate(samples, inputs);
    const forces = await asked;
    this.evaluation = { ...evaluation, ...(forces && { forces }) };
  }

  /** Sets the objective, and takes the samples: their changes while core computes belong to the next evaluation. */
  #configure(catalogue: Catalogue, settings: Settings, kernel: string): { samples: Samples; inputs: Inputs } {
    const samples = copy(this.samples);
    this.lab.configure(catalogue.settingOf(this.choice, settings, kernel));
    return { samples, inputs: catalogue.inputsOf(this.choice, samples) };
  }

  async #evaluate(samples: Samples, inputs: Inputs): Promise<SideEvaluation> {
    const [a, b] = samples.views;
    const { loss, gradA, gradB, aux, warnings, warningKinds } = await this.lab.evaluate(a, b, inputs);
    const { positive, negative } = aux;
    return {
      samples,
      loss,
      warnings,
      warningKinds,
      gradients: [gradA, gradB],
      ...(typeof positive === "number" && typeof negative === "number" && { parts: { positive, negative } }),
    };
  }

  /** The samples that the evaluation is of. */
  get evaluated(): Samples {
    return this.evaluation?.samples ?? this.samples;
  }

  /** Length of the steepest gradient, for the scale of arrows. */
  get steepest(): number {
    return Math.max(0, ...(this.evaluation?.gradients.flat().map(length) ?? []));
  }

  /** Moves every point a step down its gradient, along the sphere. */
  descend(): void {
    if (!this.evaluation) return;
    const count = this.samples.hues.length;
    const steepest = this.steepest * count;
    const rate = Math.min(RATE, LONGEST_STEP / (steepest || 1)) * count;
    for (const [view, gradients] of this.evaluation.gradients.entries()) {
      const rows = this.samples.views[view];
      gradients.forEach((gradient, at) => {
        const row = rows?.[at];
        if (rows && row) rows[at] = unit(add(row, gradient, -rate));
      });
    }
  }
}
