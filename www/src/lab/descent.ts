// Gradient descent on both sides: single steps, and a run of them that can be paused.
import { element } from "../element.js";
import type { Evaluator } from "./evaluator.js";

/** The texts that follow the samples and the pointer. */
const SPOKEN = ["focus", "pair", "cell"] as const;
/** Steps between two pictures where the visitor prefers reduced motion. */
const STEPS_UNSEEN = 50;

export class Descent {
  #isRunning = false;
  /** The run until it has shown where it stopped. */
  #run: Promise<void> | undefined;

  /** `advance` moves the samples of both sides a step, and settles once they are evaluated. */
  constructor(
    private readonly evaluator: Evaluator,
    private readonly advance: () => Promise<void>,
  ) {}

  get isRunning(): boolean {
    return this.#isRunning;
  }

  step(): Promise<void> {
    return this.evaluator.during(this.advance());
  }

  stop(): void {
    this.#isRunning = false;
    this.#speak("polite");
    element("run", HTMLButtonElement).textContent = "Run gradient descent";
  }

  /** Starts a run, or pauses the one that is on its way. */
  toggle(): void {
    if (this.#isRunning) {
      this.stop();
      return;
    }
    this.#isRunning = true;
    this.#speak("off");
    element("run", HTMLButtonElement).textContent = "Pause";
    // One that was stopped a moment ago goes on.
    this.#run ??= this.evaluator.during(this.#descend()).finally(() => (this.#run = undefined));
  }

  async #descend(): Promise<void> {
    const steps = matchMedia("(prefers-reduced-motion: reduce)").matches ? STEPS_UNSEEN : 1;
    do {
      while (this.#isRunning) {
        for (let left = steps; left > 0 && this.#isRunning; left--) {
          this.evaluator.isSeen = left === 1;
          await this.advance();
        }
        await new Promise(requestAnimationFrame);
      }
      this.evaluator.isSeen = true;
      await this.evaluator.refresh();
    } while (this.#isRunning);
  }

  /** Whether a screen reader speaks what changes: not each step of a run. */
  #speak(live: "polite" | "off"): void {
    for (const id of SPOKEN) element(id, HTMLElement).setAttribute("aria-live", live);
  }
}
