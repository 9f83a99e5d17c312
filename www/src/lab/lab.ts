// The lab: two objectives on the same samples, the state of the page, and its views.
import { LossLab } from "simile-web";
import { element, setText } from "../element.js";
import { atOnce, inSlices, type Steps } from "../slices.js";
import { warn } from "../status.js";
import { messageOf } from "../words.js";
import type { ArenaActions } from "./arena.js";
import { type Camera, cameraFor } from "./camera.js";
import { Catalogue, type Choice } from "./catalogue.js";
import { Brush, DrawControls, ParameterControls } from "./controls.js";
import { describeFocus } from "./focus.js";
import { History } from "./history.js";
import { KernelPanel } from "./kernel-panel.js";
import { measure } from "./measure.js";
import { PairPanel } from "./pair-panel.js";
import type { Preset } from "./presets.js";
import { copy, draw, type Samples } from "./samples.js";
import { Side } from "./side.js";
import { SidePanel } from "./side-panel.js";
import { SIDES } from "./sides.js";
import { fromHash, type Snapshot, type State, toHash } from "./state.js";
import { warningsOf } from "./warnings.js";
import { type WeightScheme, weightSchemeOf } from "./weight-scheme.js";

type Both<T> = readonly [T, T];
const both = <T>(make: (side: 0 | 1) => T): Both<T> => [make(0), make(1)];

/** The texts that follow the samples and the pointer. */
const SPOKEN = ["focus", "pair", "cell"] as const;
/** Steps between two pictures where the visitor prefers reduced motion. */
const STEPS_UNSEEN = 50;
/** Delay before the address is updated, in milliseconds, counted from the last change. */
const ADDRESS_DELAY = 250;

export class Lab {
  /** Called when the visitor leaves the state of a preset; its story may tell to, but not to take other objectives or samples. */
  onLeave: (story: "told" | "over") => void = () => {};
  readonly history = new History();
  readonly #panels: Both<SidePanel>;
  readonly #kernels: KernelPanel;
  readonly #pairs: PairPanel;
  readonly #controls: ParameterControls;
  readonly #draws: DrawControls;
  readonly #brush = new Brush();
  #camera: Camera;
  #focus: number | undefined;
  #marked: readonly number[] = [];
  #haveMoved = false;
  /** The samples that an address brought, to which the visitor can go back. */
  #initial: Both<Samples> | undefined;
  #isRunning = false;
  /** True if evaluations are shown; with reduced motion, those of a run are skipped. */
  #isSeen = true;
  #busy: Promise<void> | undefined;
  #descent: Promise<void> | undefined;
  #isStale = false;
  /** Number of works that are not done. */
  #pending = 0;
  #drawnWeights = "";
  /** The message about an address until something else is chosen. */
  #notice = "";
  #timer: number | undefined;

  private constructor(
    readonly catalogue: Catalogue,
    readonly sides: Both<Side>,
    public state: State,
  ) {
    this.#camera = cameraFor(sides[0].samples);
    this.#panels = both(
      (side) => new SidePanel(SIDES[side], catalogue, this.#actions(), (choice) => this.#choose(side, choice)),
    );
    element("arenas", HTMLElement).append(...this.#panels.map((panel) => panel.element));
    this.#kernels = new KernelPanel(
      (samples) => this.#mark(samples),
      catalogue.kernels,
      (kernel, weightScheme) => this.change({ kernel, weightScheme }),
    );
    this.#pairs = new PairPanel(
      (row) => this.#setFocus(row),
      () => void this.refresh(),
    );
    this.#controls = new ParameterControls((name, value) =>
      this.change({ settings: { ...this.state.settings, [name]: value } }),
    );
    this.#draws = new DrawControls((change) => {
      this.onLeave("over");
      this.redraw(change);
    });
  }

  /** Starts the engines and applies the state in the address. */
  static async open(initial: State, hash: string): Promise<Lab> {
    const labs = await Promise.all(SIDES.map(() => LossLab.create({ objective: "nt-xent" })));
    const [left, right] = labs as unknown as Both<LossLab>;
    const catalogue = new Catalogue(await left.objectives());
    const samples = draw(initial.draw);
    const sides = both((side) => new Side(side === 0 ? left : right, copy(samples), initial.choices[side]));
    const lab = new Lab(catalogue, sides, initial);
    lab.follow(hash);
    return lab;
  }

  /** Applies the state in an address. */
  follow(hash: string): void {
    const { refused, ...snapshot } = fromHash(hash, this.state, this.catalogue);
    const parts = refused.join(", ");
    this.restore(snapshot, parts && `The lab cannot take ${parts} of the address; it keeps its own.`);
  }

  restore({ state, moved }: Snapshot, notice = ""): void {
    this.#notice = notice;
    this.#setState(state);
    const samples = draw(state.draw);
    this.#initial = moved;
    this.#haveMoved = moved !== undefined;
    for (const side of [0, 1] as const) {
      this.sides[side].samples = copy(moved?.[side] ?? samples);
      this.sides[side].choice = state.choices[side];
    }
    this.#camera = cameraFor(this.sides[0].samples);
    this.#focus = undefined;
    // The samples of its cell are others now, or gone.
    this.#kernels.mark(undefined);
    this.#showChoices();
    void this.#during(this.refresh().then(() => this.#restartHistory()));
  }

  /** Applies a preset, with the points of its seed. */
  apply({ state }: Preset): void {
    this.stop();
    this.restore({ state });
  }

  change(change: Partial<State>): void {
    this.onLeave(change.choices === undefined ? "told" : "over");
    this.#notice = "";
    this.#setState({ ...this.state, ...change });
    this.#showChoices();
    void this.refresh();
  }

  #setState(state: State): void {
    this.state = { ...state, settings: this.catalogue.complete(state.choices, state.kernel, state.settings) };
  }

  /** Draws the samples anew. */
  redraw(change: Partial<State["draw"]>): void {
    this.restore({ state: { ...this.state, draw: { ...this.state.draw, ...change } } });
  }

  /** Goes back to the samples that an address brought, and from those, or without an address, to the ones of the seed. */
  startOver(): void {
    const [initial, samples] = [this.#initial, this.sides.map((side) => side.samples)];
    const isThere = JSON.stringify(initial) === JSON.stringify(samples);
    this.restore({ state: this.state, ...(initial && !isThere && { moved: initial }) });
  }

  get snapshot(): Snapshot {
    return this.#snapshotOf((side) => side.samples);
  }

  /** As `snapshot`, with the samples that the results are of: those of a run have moved on. */
  get evaluated(): Snapshot {
    return this.#snapshotOf((side) => side.evaluated);
  }

  #snapshotOf(samplesOf: (side: Side) => Samples): Snapshot {
    const [left, right] = this.sides;
    return { state: this.state, ...(this.#haveMoved && { moved: [samplesOf(left), samplesOf(right)] as const }) };
  }

  /** The pictures of both arenas and of their paths. */
  get pictures() {
    return [...this.#panels.flatMap(({ arena }) => arena.picture() ?? []), ...this.history.pictures];
  }

  /** Evaluates both sides and shows them. While that runs, only the newest of the other requests waits. */
  refresh(): Promise<void> {
    this.#remember();
    this.#isStale = true;
    this.#busy ??= this.#evaluate().finally(() => (this.#busy = undefined));
    return this.#during(this.#busy);
  }

  /** Marks the page as busy until the work is done, for those who wait for what it will show. */
  async #during(work: Promise<void>): Promise<void> {
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
        const { settings, kernel } = this.state;
        const wantsForces = this.#isSeen && (this.#focus !== undefined || this.#pairs.isOpen);
        const evaluate = (side: Side) =>
          wantsForces
            ? side.evaluateWithForces(this.catalogue, settings, kernel)
            : side.evaluate(this.catalogue, settings, kernel);
        await Promise.all(this.sides.map(evaluate));
        if (!this.#isSeen) continue;
        await this.#weigh();
        await inSlices(this.#showing());
      }
      const hasBandwidth = this.catalogue.hasBandwidth(this.state.kernel);
      const warnings = warningsOf(this.sides, hasBandwidth ? "raise the bandwidth σ" : "choose another kernel");
      warn([this.#notice, ...warnings].filter(Boolean).join(" "));
    } catch (error) {
      this.stop();
      warn(messageOf(error));
    }
  }

  show(): void {
    atOnce(this.#showing());
  }

  *#showing(): Steps<void> {
    const steepest = Math.max(1e-12, ...this.sides.map((side) => side.steepest));
    for (const [side, { samples, evaluation, choice }] of this.sides.entries()) {
      if (!evaluation) continue;
      const view = { samples, evaluation, camera: this.#camera, steepest, focus: this.#focus, marked: this.#marked };
      this.#panels[side]?.show(view, choice, this.state.settings);
      yield;
    }
    this.#pairs.show(this.sides);
    setText("focus", describeFocus(this.sides, this.#focus, this.state.draw.count));
  }

  /** Whether a screen reader speaks what changes: not each step of a run. */
  #speak(live: "polite" | "off"): void {
    for (const id of SPOKEN) element(id, HTMLElement).setAttribute("aria-live", live);
  }

  step(): Promise<void> {
    return this.#during(this.#step());
  }

  async #step(): Promise<void> {
    for (const side of this.sides) side.descend();
    this.#haveMoved = true;
    await this.refresh();
    this.history.note(this.#figures());
    if (this.#isSeen) await inSlices(this.history.show());
  }

  stop(): void {
    this.#isRunning = false;
    this.#speak("polite");
    element("run", HTMLButtonElement).textContent = "Run gradient descent";
  }

  toggle(): void {
    if (this.#isRunning) {
      this.stop();
      return;
    }
    this.#isRunning = true;
    this.#speak("off");
    element("run", HTMLButtonElement).textContent = "Pause";
    // One that was stopped a moment ago goes on.
    this.#descent ??= this.#during(this.#descend()).finally(() => (this.#descent = undefined));
  }

  async #descend(): Promise<void> {
    const steps = matchMedia("(prefers-reduced-motion: reduce)").matches ? STEPS_UNSEEN : 1;
    do {
      while (this.#isRunning) {
        for (let left = steps; left > 0 && this.#isRunning; left--) {
          this.#isSeen = left === 1;
          await this.#step();
        }
        await new Promise(requestAnimationFrame);
      }
      this.#isSeen = true;
      await this.refresh();
    } while (this.#isRunning);
  }

  #actions(): ArenaActions {
    return {
      move: (row, to) => this.#move(row, to),
      focus: (row) => this.#setFocus(row),
      click: (row) => this.#brush.isOn && this.#paint(row),
      paint: (row) => this.#paint(row),
      turned: () => this.show(),
    };
  }

  /** Moves the same point on both sides. */
  #move(row: number, to: number[]): void {
    const count = this.state.draw.count;
    for (const { samples } of this.sides) {
      const rows = samples.views[row < count ? 0 : 1];
      rows[row % count] = [...to];
    }
    this.#haveMoved = true;
    this.onLeave("told");
    void this.refresh();
  }

  #paint(row: number): void {
    const [sample, hue] = [row % this.state.draw.count, this.#brush.hue(this.state.draw)];
    for (const { samples } of this.sides) samples.hues[sample] = hue;
    this.#haveMoved = true;
    this.onLeave("told");
    void this.refresh();
  }

  #setFocus(row: number | undefined): void {
    if (row === this.#focus) return;
    this.#focus = row;
    this.#kernels.mark(row === undefined ? undefined : row % this.state.draw.count);
    this.show();
    // The forces on it need another evaluation.
    if (row !== undefined && !this.#isRunning) void this.refresh();
  }

  #mark(samples: readonly number[]): void {
    this.#marked = samples;
    this.show();
  }

  #choose(side: 0 | 1, choice: Choice): void {
    const [left, right] = this.state.choices;
    const choices: Both<Choice> = side === 0 ? [choice, right] : [left, choice];
    this.sides[side].choice = choice;
    // Settings that both sides share stay, so that they can be compared; others begin with the objective's own.
    const isNew = choice.objective !== this.state.choices[side].objective;
    const shared = new Set(this.catalogue.parametersOf(choices[1 - side] as Choice).map(({ name }) => name));
    const settings = Object.fromEntries(
      Object.entries(this.state.settings).filter(([name]) => !isNew || shared.has(name)),
    );
    // The map shows the weights of the latest choice.
    const weightScheme = this.catalogue.usesKernel(choice) ? this.#weightSchemeOf(choice) : this.state.weightScheme;
    this.change({ choices, weightScheme, settings });
  }

  #showChoices(): void {
    const { choices, settings, kernel, draw } = this.state;
    choices.forEach((choice, side) => this.#panels[side]?.choose(choice));
    this.#controls.show(this.catalogue.controlsOf(choices, kernel), settings);
    this.#draws.show(draw);
    const usesKernel = choices.some((choice) => this.catalogue.usesKernel(choice));
    element("kernel-section", HTMLElement).hidden = !usesKernel;
  }

  /** The weights that an objective with a kernel uses. */
  #weightSchemeOf({ objective, variant }: Choice): WeightScheme {
    return weightSchemeOf(variant, this.catalogue.offered.get(objective)?.variants ?? []);
  }

  /** Updates the matrices of the kernel: of a side that uses the weights that are shown, else of the first that has a kernel. */
  async #weigh(): Promise<void> {
    const { kernel, weightScheme, settings } = this.state;
    const withKernel = this.sides.filter(({ choice }) => this.catalogue.usesKernel(choice));
    const user = withKernel.find(({ choice }) => this.#weightSchemeOf(choice) === weightScheme);
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
    await this.#kernels.update(lab, copy(samples), weighing);
    this.#drawnWeights = key;
  }

  #figures() {
    return both((side) => measure(this.sides[side].samples));
  }

  async #restartHistory(): Promise<void> {
    await inSlices(this.history.restart(this.#figures()));
  }

  /** Writes the state to the address, so that it can be shared; changes in quick succession count as one. */
  #remember(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => history.replaceState(null, "", toHash(this.snapshot)), ADDRESS_DELAY);
  }
}
