// The evaluations of both sides, one after another, and what the page shows of them.
import { setText } from "../element.js";
import { atOnce, inSlices, type Steps } from "../slices.js";
import { warn } from "../status.js";
import { messageOf } from "../words.js";
import type { Camera } from "./camera.js";
import type { Catalogue } from "./catalogue.js";
import { describeFocus } from "./focus.js";
import type { KernelPanel } from "./kernel-panel.js";
import type { PairPanel } from "./pair-panel.js";
import { copy } from "./samples.js";
import type { Side } from "./side.js";
import type { SidePanel } from "./side-panel.js";
import { SIDES } from "./sides.js";
import type { State } from "./state.js";
import { warningsOf } from "./warnings.js";

/** The panels that show evaluations. */
export interface Panels {
  readonly sides: readonly SidePanel[];
  readonly kernels: KernelPanel;
  readonly pairs: PairPanel;
}

/** The settings of evaluations, and how their results are looked at. */
export interface View {
  readonly state: State;
  readonly camera: Camera;
  /** The row that is looked at. */
  readonly focus: number | undefined;
  /** The samples that are marked. */
  readonly marked: readonly number[];
  /** The message before the warnings. */
  readonly notice: string;
}

/** The view that an evaluator asks the lab for, and the events that it reports to it. */
export interface EvaluatorActions {
  /** The view as it is now; it may change while core computes. */
  view(): View;
  /** An evaluation is asked for. */
  asked(): void;
  /** An evaluation failed. */
  failed(): void;
}

export class Evaluator {
  /** True if evaluations are shown; with reduced motion, those of a run are skipped. */
  isSeen = true;
  #busy: Promise<void> | undefined;
  #isStale = false;
  /** Number of calls of `during` whose work goes on. */
  #pending = 0;
  #drawnWeights = "";

  constructor(
    private readonly catalogue: Catalogue,
    private readonly sides: readonly Side[],
    private readonly panels: Panels,
    private readonly actions: EvaluatorActions,
  ) {}

  /** Evaluates both sides and shows them. While that runs, only the newest of the other requests waits. */
  refresh(): Promise<void> {
    this.actions.asked();
    this.#isStale = true;
    this.#busy ??= this.#evaluate().finally(() => (this.#busy = undefined));
    return this.during(this.#busy);
  }

  /** Marks the page as busy until the work is done, for those who wait for what it will show. */
  async during(work: Promise<void>): Promise<void> {
    if (this.#pending++ === 0) document.body.dataset["lab"] = "busy";
    try {
      await work;
    } finally {
      if (--this.#pending === 0) document.body.dataset["lab"] = "settled";
    }
  }

  async #evaluate(): Promise<void> {
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const { state, focus } = this.actions.view();
        const { settings, kernel } = state;
        const wantsForces = this.isSeen && (focus !== undefined || this.panels.pairs.isOpen);
        const evaluate = (side: Side) =>
          wantsForces
            ? side.evaluateWithForces(this.catalogue, settings, kernel)
            : side.evaluate(this.catalogue, settings, kernel);
        await Promise.all(this.sides.map(evaluate));
        if (!this.isSeen) continue;
        await this.#weigh();
        await inSlices(this.#showing());
      }
      const { state, notice } = this.actions.view();
      const hasBandwidth = this.catalogue.hasBandwidth(state.kernel);
      const warnings = warningsOf(this.sides, hasBandwidth ? "raise the bandwidth σ" : "choose another kernel");
      warn([notice, ...warnings].filter(Boolean).join(" "));
    } catch (error) {
      this.actions.failed();
      warn(messageOf(error));
    }
  }

  /** Shows the latest evaluations as they are looked at now. */
  show(): void {
    atOnce(this.#showing());
  }

  *#showing(): Steps<void> {
    const steepest = Math.max(1e-12, ...this.sides.map((side) => side.steepest));
    for (const [side, { samples, evaluation, choice }] of this.sides.entries()) {
      if (!evaluation) continue;
      const { state, camera, focus, marked } = this.actions.view();
      this.panels.sides[side]?.show({ samples, evaluation, camera, steepest, focus, marked }, choice, state.settings);
      yield;
    }
    this.panels.pairs.show(this.sides);
    const { state, focus } = this.actions.view();
    setText("focus", describeFocus(this.sides, focus, state.draw.count));
  }

  /** Updates the matrices of the kernel: of a side that uses the weights that are shown, else of the first that has a kernel. */
  async #weigh(): Promise<void> {
    const { kernel, weightScheme, settings } = this.actions.view().state;
    const withKernel = this.sides.filter(({ choice }) => this.catalogue.usesKernel(choice));
    const user = withKernel.find(({ choice }) => this.catalogue.weightSchemeOf(choice) === weightScheme);
    const side = user ?? withKernel[0];
    if (!side) return;
    const { lab, choice, samples } = side;
    const comparesPoints = this.catalogue.comparesPoints(choice);
    const objective = this.catalogue.offered.get(choice.objective)?.title ?? choice.objective;
    const title = `${objective}, ${SIDES[this.sides.indexOf(side)] ?? ""}`;
    const weighing = {
      title: user ? title : `${title}, which takes other weights`,
      kernel,
      weightScheme,
      conditioning: this.catalogue.conditioningOf(choice, settings, kernel, samples.hues.length),
      ridge: this.catalogue.ridgeGrows(choice) ? "bλ" : "λ",
      comparesPoints,
    };
    const key = JSON.stringify([samples.hues, weighing, comparesPoints && samples.views[0]]);
    if (key === this.#drawnWeights) return;
    await this.panels.kernels.update(lab, copy(samples), weighing);
    this.#drawnWeights = key;
  }
}
