import { LossLab } from "simile-web";
import { element } from "../element.js";
import { Arena } from "./arena.js";
import { OBJECTIVES, type ObjectiveName, PRESETS, type Preset, type Settings } from "./objectives.js";
import { alongCircle, conditions, copy, draw, type Points, rows } from "./points.js";

/** The sliders: their range in powers of ten, or as they are. */
const SLIDERS = {
  temperature: { title: "Temperature τ", low: -1.5, high: 0.5, isPower: true },
  lambda: { title: "Ridge λ", low: -4, high: 2, isPower: true },
  sigma: { title: "Bandwidth σ", low: -1.5, high: 1, isPower: true },
  beta: { title: "Hardness β", low: 0, high: 5, isPower: false },
} as const;

/** How far the steepest point goes in a step, in radians, and how far at most for its slope. */
const LONGEST_STEP = 0.08;
const RATE = 1.5;

/** One side: an objective and the points as it moves them. */
interface Side {
  readonly arena: Arena;
  readonly lab: LossLab;
  points: Points;
  slopes: readonly [readonly number[], readonly number[]];
}

const parameters = new URLSearchParams(location.hash.slice(1));
let settings: Settings = { ...(PRESETS[0] as Preset).settings };
let seed = Number(parameters.get("seed")) || 1;
let isRunning = false;
let isBusy = false;
let isStale = false;

const run = element("run", HTMLButtonElement);
const inputs = buildSliders();
buildPresets();
const sides = await Promise.all(["left", "right"].map(open));
restore();
run.addEventListener("click", () => {
  isRunning = !isRunning;
  run.textContent = isRunning ? "Pause" : "Run gradient descent";
  if (isRunning) void animate();
});
element("step", HTMLButtonElement).addEventListener("click", () => void step());
element("reset", HTMLButtonElement).addEventListener("click", restart);
element("shuffle", HTMLButtonElement).addEventListener("click", () => {
  seed = 1 + Math.floor(Math.random() * 999);
  restart();
});
void refresh();

async function open(name: string): Promise<Side> {
  const arena = new Arena(name, drag);
  element("arenas", HTMLElement).append(arena.element);
  arena.select.addEventListener("change", () => void refresh());
  const lab = await LossLab.create({ objective: "nt-xent" });
  return { arena, lab, points: draw(seed), slopes: [[], []] };
}

/** Evaluates both sides and shows them. While that runs, only the newest of the other wishes waits. */
async function refresh(): Promise<void> {
  if (isBusy) {
    isStale = true;
    return;
  }
  isBusy = true;
  remember();
  try {
    do {
      isStale = false;
      await Promise.all(sides.map(evaluate));
    } while (isStale);
    element("status", HTMLElement).textContent = "";
  } catch (error) {
    isRunning = false;
    element("status", HTMLElement).textContent = error instanceof Error ? error.message : String(error);
  } finally {
    isBusy = false;
  }
}

async function evaluate(side: Side): Promise<void> {
  const { arena, lab, points } = side;
  const objective = OBJECTIVES[arena.objective];
  lab.configure(objective.options(settings));
  const [a, b] = points.views;
  const needsCondition = (objective.uses as readonly string[]).includes("sigma");
  const z = needsCondition ? { z: conditions(points) } : {};
  const { loss, gradA, gradB } = await lab.evaluate(rows(a), rows(b), z);
  side.slopes = [alongCircle(a, gradA), alongCircle(b, gradB)];
  arena.show(points, { loss, slopes: side.slopes });
}

async function step(): Promise<void> {
  for (const { points, slopes } of sides) {
    const count = slopes[0].length;
    const steepest = Math.max(...slopes.flat().map(Math.abs)) * count;
    const rate = Math.min(RATE, LONGEST_STEP / (steepest || 1)) * count;
    points.views.forEach((angles, view) => {
      angles.forEach((angle, at) => (angles[at] = angle - rate * (slopes[view]?.[at] ?? 0)));
    });
  }
  await refresh();
}

async function animate(): Promise<void> {
  while (isRunning) {
    await step();
    await new Promise(requestAnimationFrame);
  }
  run.textContent = "Run gradient descent";
}

/** Both objectives are asked about the same point. */
function drag(view: number, index: number, angle: number): void {
  for (const { points } of sides) {
    const angles = points.views[view];
    if (angles) angles[index] = angle;
  }
  void refresh();
}

function restart(): void {
  const points = draw(seed);
  for (const side of sides) side.points = copy(points);
  void refresh();
}

function apply(preset: Preset): void {
  const [left, right] = sides;
  if (left) left.arena.objective = preset.left;
  if (right) right.arena.objective = preset.right;
  settings = { ...preset.settings };
  showSettings();
  element("story", HTMLElement).textContent = preset.story;
  restart();
}

function buildPresets(): void {
  element("presets", HTMLElement).append(
    ...PRESETS.map((preset) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = preset.title;
      button.addEventListener("click", () => apply(preset));
      return button;
    }),
  );
}

function buildSliders(): Record<keyof Settings, { input: HTMLInputElement; output: HTMLOutputElement }> {
  const build = (name: keyof Settings) => {
    const { title, low, high, isPower } = SLIDERS[name];
    const [label, input, output] = [
      document.createElement("label"),
      document.createElement("input"),
      document.createElement("output"),
    ];
    Object.assign(input, { type: "range", min: `${low}`, max: `${high}`, step: "0.01" });
    input.addEventListener("input", () => {
      const value = Number(input.value);
      settings = { ...settings, [name]: isPower ? 10 ** value : value };
      showSettings();
      void refresh();
    });
    label.append(title, input, output);
    element("sliders", HTMLElement).append(label);
    return { input, output };
  };
  return { temperature: build("temperature"), lambda: build("lambda"), sigma: build("sigma"), beta: build("beta") };
}

function showSettings(): void {
  for (const name of Object.keys(SLIDERS) as (keyof Settings)[]) {
    const { input, output } = inputs[name];
    const value = settings[name];
    input.value = `${SLIDERS[name].isPower ? Math.log10(value) : value}`;
    output.value = value.toPrecision(2);
  }
}

/** The address holds all that is chosen, so that it can be passed on. */
function remember(): void {
  const state = new URLSearchParams({ seed: `${seed}` });
  for (const [at, { arena }] of sides.entries()) {
    state.set(at === 0 ? "left" : "right", arena.objective);
    const uses = new Set(sides.flatMap((side) => OBJECTIVES[side.arena.objective].uses as readonly (keyof Settings)[]));
    for (const name of Object.keys(SLIDERS) as (keyof Settings)[]) {
      inputs[name].input.disabled = !uses.has(name);
      state.set(name, settings[name].toPrecision(3));
    }
  }
  history.replaceState(null, "", `#${state}`);
}

function restore(): void {
  apply(PRESETS[0] as Preset);
  for (const [at, { arena }] of sides.entries()) {
    const name = parameters.get(at === 0 ? "left" : "right");
    if (name && name in OBJECTIVES) arena.objective = name as ObjectiveName;
  }
  for (const name of Object.keys(SLIDERS) as (keyof Settings)[]) {
    const value = Number(parameters.get(name));
    if (parameters.has(name) && Number.isFinite(value)) settings = { ...settings, [name]: value };
  }
  if (parameters.has("left")) element("story", HTMLElement).textContent = "";
  showSettings();
}
