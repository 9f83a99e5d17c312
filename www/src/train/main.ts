import type { DeviceChoice, Reading, TrainerOptions } from "simile-web";
import { deviceIn } from "../device-choice.js";
import { acceptFiles, onFiles } from "../drop.js";
import { element } from "../element.js";
import { listLeftOut } from "../omissions.js";
import { saveFile } from "../save.js";
import { say } from "../status.js";
import { counted, messageOf, placeOf } from "../words.js";
import type { Colouring } from "./cloud.js";
import { Curves, TITLES } from "./curves.js";
import { Learner } from "./learner.js";
import { RunPanel } from "./run-panel.js";
import { checkFractions, follow, numberOf, shared } from "./settings.js";
import { DRAWN, ofFolder, type Source, withoutUnreadable } from "./source.js";
import { warningsOf } from "./warnings.js";

/** The kernel of Fair-CCLK on colours from 0 to 255, as in the recipe. */
const KERNEL = { name: "rbf", sigma: 20 };

type State = "idle" | "preparing" | "running" | "pausing" | "paused" | "finished" | "failed";

const form = element("settings", HTMLFormElement);
const choices = element("choices", HTMLFieldSetElement);
const runButton = element("run", HTMLButtonElement);
const resetButton = element("reset", HTMLButtonElement);
const drawnButton = element("drawn", HTMLButtonElement);
const device = element("device", HTMLSelectElement);

const panels = [
  new RunPanel("left", TITLES[0], "told nothing of colours", () => void save(0)),
  new RunPanel("right", TITLES[1], "told the colour, to set it aside", () => void save(1)),
] as const;
element("sides", HTMLElement).append(...panels.map((panel) => panel.element));

let state: State = "idle";
/** True if a network was downloaded after its run had ended. */
let isSaved = false;
let source: Source = DRAWN;
const curves = new Curves();
let learners: readonly Learner[] = [];
/** Counts the runs, so that late results of an earlier one are not shown. */
let generation = 0;
/** Stops the preparation of the current run. */
let preparation = new AbortController();
let [views, seconds] = [0, 0];

const parameters = new URLSearchParams(location.search);
const refused = follow(parameters);
device.value = deviceIn(parameters);
checkFractions();
element("charts", HTMLElement).replaceChildren(...curves.elements);
curves.clear(numberOf("iterations"), batchSize());
learnFrom(DRAWN);
if (refused.length > 0) say(`The address has ${refused.join(", ")}, which is out of range; the form has its own.`, "error");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (state === "running") void pause();
  else if (state === "paused") void goOn();
  else if (state === "idle") void start();
});
resetButton.addEventListener("click", reset);
const folder = onFiles("folder", take);
drawnButton.addEventListener("click", () => {
  learnFrom(DRAWN);
  say("");
  folder.focus();
});
acceptFiles(take);
// Networks are lost with the page: those that learn, and those that have learnt, until one is downloaded.
addEventListener("beforeunload", (event) => {
  if (state !== "idle" && state !== "preparing" && !isSaved) event.preventDefault();
});
element("colouring", HTMLFieldSetElement).addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return;
  for (const panel of panels) panel.colouring = target.value as Colouring;
});

/** Takes the files of a folder, unless a run on others has begun. */
function take(files: readonly File[]): void {
  if (files.length === 0) return;
  if (state !== "idle") {
    const notes = notesOfRun();
    // The notes are not of the images that were dropped.
    say(`There is a run on other images; press Reset to learn from these.${notes && ` This run:${notes}`}`, "error");
    return;
  }
  try {
    learnFrom(ofFolder(files));
    say("");
  } catch (error) {
    say(messageOf(error), "error");
  }
}

function learnFrom(chosen: Source): void {
  source = chosen;
  element("source", HTMLElement).textContent = source.description;
  listLeftOut(source.omitted);
  for (const panel of panels) panel.subject = source.subject;
  drawnButton.hidden = source === DRAWN;
}

/** Writes the settings of the run to the address, so that it can be shared. */
function share(): void {
  history.replaceState(null, "", `?${new URLSearchParams({ ...shared(), device: device.value })}`);
}

async function start(): Promise<void> {
  const steps = numberOf("iterations");
  const mine = ++generation;
  preparation = new AbortController();
  curves.clear(steps, batchSize());
  share();
  enter("preparing");
  say("Starting the engine and preparing the images…");
  try {
    learners = await prepareBoth(steps, mine);
  } catch (error) {
    if (mine !== generation) return;
    reset();
    say(messageOf(error), "error");
    return;
  }
  for (const panel of panels) panel.allowSaving();
  await goOn();
}

/** Prepares both networks; where that fails because of files that hold no image, on the others. */
async function prepareBoth(steps: number, mine: number): Promise<readonly Learner[]> {
  try {
    return await createBoth(steps, mine);
  } catch (error) {
    if (mine !== generation) throw error;
    const readable = await withoutUnreadable(source, preparation.signal);
    if (!readable || mine !== generation) throw error;
    learnFrom(readable);
    return createBoth(steps, mine);
  }
}

/** Creates both networks; if one fails, the other is disposed too. */
async function createBoth(steps: number, mine: number): Promise<readonly Learner[]> {
  const created = await Promise.allSettled(([0, 1] as const).map((side) => prepare(side, steps, mine)));
  const both = created.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = created.find((result) => result.status === "rejected");
  if (mine === generation && !failed) return both;
  for (const learner of both) learner.dispose();
  throw failed?.reason ?? new Error("something else was asked for");
}

function prepare(side: 0 | 1, steps: number, mine: number): Promise<Learner> {
  const panel = panels[side];
  const batch = batchSize();
  return Learner.create(optionsOf(side, steps, batch, mine), {
    onSteps: (step, loss, count, milliseconds) => {
      if (mine !== generation) return;
      panel.showStep(step, steps, loss);
      curves.note("loss", side, step, loss);
      views += 2 * batch * count;
      seconds += milliseconds / 1000;
      showRate();
    },
    onReading: (reading) => {
      if (mine === generation) show(side, reading);
    },
  });
}

function show(side: 0 | 1, reading: Reading): void {
  const learner = learners[side];
  if (!learner) return;
  panels[side].showReading(reading, learner.mapped);
  curves.note("accuracy", side, reading.step, reading.accuracy);
  curves.note("leak", side, reading.step, Math.max(reading.leak, 0));
}

/** Images in a step: a step takes each image once. */
function batchSize(): number {
  return Math.min(numberOf("batch"), source.trained);
}

function optionsOf(side: 0 | 1, iterations: number, batch: number, mine: number): TrainerOptions {
  const objective: TrainerOptions =
    side === 0
      ? { objective: "nt-xent" }
      : { objective: "fair-cclk", variant: "normalised", lambda: numberOf("lambda"), kernel: KERNEL };
  return {
    ...objective,
    temperature: numberOf("temperature"),
    iterations,
    batch,
    seed: numberOf("seed"),
    ...source.options,
    device: device.value as DeviceChoice,
    // A device may be lost in the middle of a run.
    onDevice: () => mine === generation && state === "running" && sayOfRun(place()),
    signal: preparation.signal,
  };
}

async function goOn(): Promise<void> {
  const mine = generation;
  enter("running");
  sayOfRun(place());
  try {
    await Promise.all(learners.map(runOne));
  } catch (error) {
    if (mine === generation) fail(error);
    return;
  }
  // A pause also ends up here.
  if (mine !== generation || state !== "running" || !learners.every((learner) => learner.isFinished)) return;
  enter("finished");
  sayOfRun("Both networks have learnt");
}

/** Says something of a run, with the notes that hold for all of it; warnings among these make it an error. */
function sayOfRun(text: string, kind: "info" | "error" = "info"): void {
  const isWarned = learners.some(({ warnings }) => warnings.length > 0);
  say(`${text}.${notesOfRun()}`, isWarned ? "error" : kind);
}

/** Sentences on the images of a run, and on why its numbers tell nothing if so. */
function notesOfRun(): string {
  const all = batchSize() < numberOf("batch") ? ` A step takes all ${counted(source.trained, "image")}.` : "";
  const remedy = batchSize() === source.trained ? "take a folder with more images" : "take more images in a step";
  return `${all}${source.omission}${warningsOf(learners, remedy)}`;
}

/** Runs the network of one side; an error names the side and the step. */
async function runOne(learner: Learner, side: number): Promise<void> {
  try {
    await learner.run();
  } catch (cause) {
    throw new Error(`${TITLES[side]} failed after step ${learner.step}: ${messageOf(cause)}`, { cause });
  }
}

async function pause(): Promise<void> {
  const mine = generation;
  enter("pausing");
  // Errors are reported where the run is awaited.
  await Promise.allSettled(learners.map((learner) => learner.pause()));
  if (mine !== generation || state !== "pausing") return;
  const isOver = learners.every((learner) => learner.isFinished);
  enter(isOver ? "finished" : "paused");
  sayOfRun(isOver ? "Both networks have learnt" : "Paused");
}

function reset(): void {
  generation++;
  preparation.abort();
  for (const learner of learners) learner.dispose();
  learners = [];
  for (const panel of panels) panel.clear();
  curves.clear(numberOf("iterations"), batchSize());
  [views, seconds] = [0, 0];
  showRate();
  enter("idle");
  say("");
}

/** Ends a run that failed, and keeps its curves, and its networks as far as their workers go on. */
function fail(error: unknown): void {
  enter("failed");
  // The other network stops after its step. Why one failed is reported here.
  void Promise.allSettled(learners.map((learner) => learner.pause()));
  const note = "The curves, and each network whose worker still answers, are kept until you press Reset";
  sayOfRun(`${messageOf(error)}. ${note}`, "error");
}

async function save(side: 0 | 1): Promise<void> {
  const [mine, isOver] = [generation, state === "finished" || state === "failed"];
  try {
    const file = await learners[side]?.checkpoint();
    if (!file) return;
    saveFile(`${TITLES[side].toLowerCase()}.safetensors`, "application/octet-stream", file);
    if (mine === generation) isSaved = isOver;
  } catch (error) {
    // A reset disposes of the network.
    if (mine === generation) sayOfRun(messageOf(error), "error");
  }
}

function enter(next: State): void {
  [state, isSaved] = [next, false];
  const names = {
    idle: "Start training",
    preparing: "Preparing…",
    running: "Pause",
    pausing: "Pausing…",
    paused: "Go on",
    finished: "Finished",
    failed: "Failed",
  };
  runButton.textContent = names[next];
  // It keeps the focus of a keyboard: a press in these states is ignored.
  runButton.setAttribute("aria-disabled", `${["preparing", "pausing", "finished", "failed"].includes(next)}`);
  if (next === "idle" && document.activeElement === resetButton) runButton.focus();
  resetButton.disabled = next === "idle";
  choices.disabled = next !== "idle";
  folder.disabled = next !== "idle";
  drawnButton.disabled = next !== "idle";
  document.body.dataset["run"] = next;
}

/** Shows the speed of both runs together. This is not a status element: a screen reader would speak without end. */
function showRate(): void {
  // Both run at the same time, so that the time of one is the time of both.
  const rate = seconds > 0 ? Math.round((learners.length * views) / seconds) : 0;
  element("rate", HTMLElement).textContent = rate > 0 ? `${rate.toLocaleString("en")} views a second` : "";
}

/** Where both networks compute. */
function place(): string {
  const [left = "", right = ""] = learners.map(({ device }) => placeOf(device));
  return left === right ? left : TITLES.map((title, side) => `${title}: ${side === 0 ? left : right}`).join("; ");
}
