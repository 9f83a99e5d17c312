// The lab: two objectives on the same samples, the state of the page, and the actions of a visitor.
import { LossLab } from "simile-web";
import { element } from "../element.js";
import { inSlices } from "../slices.js";
import type { ArenaActions } from "./arena.js";
import { type Camera, cameraFor } from "./camera.js";
import { Catalogue, type Choice } from "./catalogue.js";
import { Brush, DrawControls, ParameterControls } from "./controls.js";
import { Descent } from "./descent.js";
import { Evaluator, type View } from "./evaluator.js";
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

type Both<T> = readonly [T, T];
const both = <T>(make: (side: 0 | 1) => T): Both<T> => [make(0), make(1)];

/** Delay before the address is updated, in milliseconds, counted from the last change. */
const ADDRESS_DELAY = 250;

export class Lab {
  /**
   * Called when the visitor changes the state of a preset: `told` where the story of the preset may have asked for the change, `over` with
   * other objectives or samples, which no story asks for.
   */
  onLeave: (story: "told" | "over") => void = () => {};
  readonly history = new History();
  readonly descent: Descent;
  readonly #evaluator: Evaluator;
  readonly #panels: Both<SidePanel>;
  readonly #kernels: KernelPanel;
  readonly #controls: ParameterControls;
  readonly #draws: DrawControls;
  readonly #brush = new Brush();
  #camera: Camera;
  #focus: number | undefined;
  #marked: readonly number[] = [];
  #haveMoved = false;
  /** The samples that an address brought, to which the visitor can go back. */
  #initial: Both<Samples> | undefined;
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
    const pairs = new PairPanel(
      (row) => this.#setFocus(row),
      () => void this.#evaluator.refresh(),
    );
    this.#controls = new ParameterControls((name, value) =>
      this.change({ settings: { ...this.state.settings, [name]: value } }),
    );
    this.#draws = new DrawControls((change) => {
      this.onLeave("over");
      this.redraw(change);
    });
    const panels = { sides: this.#panels, kernels: this.#kernels, pairs };
    this.#evaluator = new Evaluator(catalogue, sides, panels, {
      view: () => this.#view(),
      asked: () => this.#remember(),
      failed: () => this.descent.stop(),
    });
    this.descent = new Descent(this.#evaluator, () => this.#advance());
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
    void this.#evaluator.during(this.#evaluator.refresh().then(() => this.#restartHistory()));
  }

  /** Applies a preset, with the points of its seed. */
  apply({ state }: Preset): void {
    this.descent.stop();
    this.restore({ state });
  }

  change(change: Partial<State>): void {
    this.onLeave(change.choices === undefined ? "told" : "over");
    this.#notice = "";
    this.#setState({ ...this.state, ...change });
    this.#showChoices();
    void this.#evaluator.refresh();
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

  /** As `snapshot`, with the samples that were evaluated last: during a run the present ones are a step ahead of the results. */
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

  #view(): View {
    return {
      state: this.state,
      camera: this.#camera,
      focus: this.#focus,
      marked: this.#marked,
      notice: this.#notice,
    };
  }

  /** Moves the samples of both sides a step down their gradients. */
  async #advance(): Promise<void> {
    for (const side of this.sides) side.descend();
    this.#haveMoved = true;
    await this.#evaluator.refresh();
    this.history.note(this.#figures());
    if (this.#evaluator.isSeen) await inSlices(this.history.show());
  }

  #actions(): ArenaActions {
    return {
      move: (row, to) => this.#move(row, to),
      focus: (row) => this.#setFocus(row),
      click: (row) => this.#brush.isOn && this.#paint(row),
      paint: (row) => this.#paint(row),
      turned: () => this.#evaluator.show(),
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
    void this.#evaluator.refresh();
  }

  #paint(row: number): void {
    const [sample, hue] = [row % this.state.draw.count, this.#brush.hue(this.state.draw)];
    for (const { samples } of this.sides) samples.hues[sample] = hue;
    this.#haveMoved = true;
    this.onLeave("told");
    void this.#evaluator.refresh();
  }

  #setFocus(row: number | undefined): void {
    if (row === this.#focus) return;
    this.#focus = row;
    this.#kernels.mark(row === undefined ? undefined : row % this.state.draw.count);
    this.#evaluator.show();
    // The forces on it need another evaluation.
    if (row !== undefined && !this.descent.isRunning) void this.#evaluator.refresh();
  }

  #mark(samples: readonly number[]): void {
    this.#marked = samples;
    this.#evaluator.show();
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
    const weightScheme = this.catalogue.usesKernel(choice)
      ? this.catalogue.weightSchemeOf(choice)
      : this.state.weightScheme;
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
