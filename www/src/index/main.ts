import { type CheckpointSource, decodeImage, type DeviceChoice } from "simile-web";
import { BACKGROUNDS } from "../background.js";
import { isCheckpoint, remedyOf, titleOf } from "../checkpoint-file.js";
import { deviceIn } from "../device-choice.js";
import { acceptFiles, onFiles } from "../drop.js";
import { element, setText } from "../element.js";
import { deviceOf } from "../load-encoder.js";
import { ImageMap } from "../map.js";
import { SHIPPED } from "../shipped.js";
import { say, sayNoEncoder } from "../status.js";
import { encoderOf, loadingOf, messageOf, placeOf, STARTING } from "../words.js";
import { Gallery } from "./gallery.js";
import { type Answer, Model, type Origin } from "./model.js";
import { Pad } from "./pad.js";
import { AnswerPanel } from "./answer-panel.js";

/** An encoder with its place on the page. */
interface Entry {
  readonly origin: Origin;
  readonly panel: AnswerPanel;
  readonly radio: HTMLInputElement;
  model?: Model;
  /** True once it has lost its place. */
  isGone?: boolean;
  answer?: Answer | undefined;
}

const parameters = new URLSearchParams(location.search);
const panels = element("panels", HTMLElement);
const choice = element("choice", HTMLSelectElement);
const pad = new Pad(element("pad", HTMLCanvasElement));
const map = new ImageMap(element("map", HTMLCanvasElement));

const entries: Entry[] = [];
let gallery: Gallery | undefined;
let onMap: Entry | undefined;
let loading: Promise<void> = Promise.resolve();
/** The encoders that could not be loaded, by the reason, until the visitor asks for others. */
const failures = new Map<string, string[]>();
/** Why the CPU computes though WebGPU was asked for. */
let notice = "";
/** True while the page says why files were not taken. */
let hasRefused = false;
let isBusy = false;
let isStale = false;

choice.value = deviceIn(parameters);
buildBackgrounds();
pad.onChange = () => {
  point(undefined);
  if (hasRefused) report();
  hasRefused = false;
  void query();
};
map.onChoose = chooseFromGallery;
map.onPoint = (index) => describePoint(index ?? map.chosen);
choice.addEventListener("change", () => {
  parameters.set("device", choice.value);
  history.replaceState(null, "", `?${parameters}`);
  failures.clear();
  notice = "";
  for (const entry of entries) load(entry);
});
element("clear", HTMLButtonElement).addEventListener("click", () => pad.clear());
element("example", HTMLButtonElement).addEventListener("click", () => pad.showExample());
element("another", HTMLButtonElement).addEventListener("click", () => {
  if (gallery) chooseFromGallery(Math.floor(Math.random() * gallery.images.length));
});
for (const id of ["image", "checkpoint"]) onFiles(id, takeFiles);
acceptFiles(takeFiles);

const address = parameters.get("checkpoint");
const origins = address ? [yours(address, address), ...SHIPPED] : SHIPPED;
for (const entry of origins.map(prepare)) {
  attach(entry);
  load(entry);
}
pad.showExample();

function yours(name: string, source: CheckpointSource): Origin {
  return { title: titleOf(name), note: "a checkpoint of yours", source };
}

function prepare(origin: Origin): Entry {
  const radio = document.createElement("input");
  radio.type = "radio";
  radio.name = "map";
  radio.disabled = true;
  const entry: Entry = { origin, panel: new AnswerPanel(origin, chooseFromGallery), radio };
  radio.addEventListener("change", () => void showOnMap(entry));
  return entry;
}

/** Gives an entry its place on the page: at the end, or before another one. */
function attach(entry: Entry, next?: Entry): void {
  entries.push(entry);
  const label = document.createElement("label");
  label.append(entry.radio, entry.origin.title);
  panels.insertBefore(entry.panel.element, next?.panel.element ?? null);
  element("switch", HTMLFieldSetElement).insertBefore(label, next?.radio.parentElement ?? null);
  entry.panel.wait("Waiting…");
}

/** Removes the checkpoint of an earlier file from the page. */
function detach(entry: Entry): void {
  entry.isGone = true;
  entries.splice(entries.indexOf(entry), 1);
  entry.panel.element.remove();
  entry.radio.parentElement?.remove();
  entry.model?.encoder.dispose();
}

/** Loads an encoder when those before it are loaded; `onLoaded` is called before it is shown. */
function load(entry: Entry, onLoaded = () => {}): void {
  loading = loading.then(async () => {
    if (entry.isGone) return;
    const { title } = entry.origin;
    try {
      if (!gallery) say(STARTING);
      gallery ??= await Gallery.draw();
      say(`Loading ${title}…`);
      const device = choice.value as DeviceChoice;
      const isNew = !entries.includes(entry);
      const model = await Model.load(entry.origin, gallery, {
        device,
        onProgress: (loaded, total) => say(loadingOf(title, loaded, total)),
        onDevice: () => onMap === entry && describe(entry),
      });
      onLoaded();
      // A device that the visitor chose meanwhile was applied only to the encoders that had a place then.
      if (isNew && choice.value !== device) load(entry);
      entry.model?.encoder.dispose();
      entry.model = model;
      entry.radio.disabled = false;
      entry.panel.introduce(model, gallery);
      if (model.refusal !== undefined) computeOnCpu(model.refusal);
      report();
      await query();
      if (!onMap || onMap === entry) await showOnMap(entry);
    } catch (error) {
      if (!entry.model) entry.panel.wait("Could not be loaded.");
      if (!entries.some(({ model }) => model)) sayNoEncoder();
      const reason = messageOf(error);
      failures.set(reason, [...(failures.get(reason) ?? []), title]);
      report();
    }
  });
}

/** Has later encoders not wait for WebGPU in vain. */
function computeOnCpu(reason: string): void {
  notice = `${reason}. The CPU computes instead.`;
  choice.value = "cpu";
}

/** Says what failed: all of it, because a later failure may follow from an earlier one. */
function report(): void {
  const lines = [...failures].map(([reason, titles]) => `${titles.join(" and ")}: ${reason}`);
  const text = [...lines, ...(notice === "" ? [] : [notice])].join(" · ");
  say(text, text === "" ? "info" : "error");
}

/** Asks every encoder. While one query runs, only the newest of the others waits. */
async function query(): Promise<void> {
  element("pad-hint", HTMLElement).hidden = !pad.isEmpty;
  element("background", HTMLFieldSetElement).disabled = pad.showsPicture;
  element("own-background", HTMLElement).hidden = !pad.showsPicture;
  if (isBusy) {
    isStale = true;
    return;
  }
  isBusy = true;
  try {
    do {
      isStale = false;
      await Promise.all(entries.map(ask));
    } while (isStale);
  } catch (error) {
    say(messageOf(error), "error");
  } finally {
    isBusy = false;
  }
}

async function ask(entry: Entry): Promise<void> {
  const { model, panel } = entry;
  if (!model || !gallery) return;
  if (pad.isEmpty) {
    panel.clear();
    entry.answer = undefined;
  } else {
    const { subject } = pad;
    const answer = await model.answer(pad.image).catch((error: unknown) => {
      if (isInUse(model)) throw error;
      return undefined;
    });
    // An encoder that was replaced meanwhile is disposed: the one in its place is asked next.
    if (!answer || !isInUse(model)) {
      isStale = true;
      return;
    }
    entry.answer = answer;
    panel.show(answer, gallery, subject);
  }
  if (onMap === entry) showAnswer(entry);
}

function isInUse(model: Model): boolean {
  return entries.some((entry) => entry.model === model);
}

async function showOnMap(entry: Entry): Promise<void> {
  const { model, radio } = entry;
  if (!model || !gallery) return;
  onMap = entry;
  radio.checked = true;
  await map.show(gallery.images, model.space.vectors);
  if (onMap !== entry) return;
  element("map-note", HTMLElement).textContent =
    `${gallery.images.length} digits that this page drew, where the two main directions of their embeddings put ` +
    "them. Similarity is the cosine between embeddings, each of their numbers standardised over the gallery.";
  describe(entry);
  showAnswer(entry);
}

function showAnswer({ answer }: Entry): void {
  map.showQuery(answer?.vector, answer?.neighbours ?? []);
  element("timing", HTMLElement).textContent = answer ? `· ${answer.milliseconds.toFixed(0)} ms for your digit` : "";
}

function describe({ model, origin }: Entry): void {
  if (!model) return;
  const { info } = model.encoder;
  element("device", HTMLElement).textContent = placeOf(deviceOf(model));
  element("encoder", HTMLElement).textContent = encoderOf(origin.title, info);
}

function chooseFromGallery(index: number): void {
  const image = gallery?.images[index];
  if (!image) return;
  pad.show(image, { digit: gallery?.labels[index], background: gallery?.backgrounds[index] });
  point(index);
}

/** Notes which image of the gallery is on the pad, if it is one. */
function point(index: number | undefined): void {
  map.chosen = index;
  describePoint(index);
}

function describePoint(index: number | undefined): void {
  const name = index === undefined ? undefined : gallery?.nameOf(index);
  setText("pointed", name ?? "Point at a digit for its name; choose one to ask for its neighbours.");
}

function takeFiles(files: readonly File[]): void {
  const [file] = files;
  if (!file) return;
  if (isCheckpoint(file)) loadYours(file);
  else if (file.type.startsWith("image/")) {
    decodeImage(file).then(
      (image) => pad.show(image, { digit: undefined, background: undefined }),
      (error: unknown) => refuse(messageOf(error)),
    );
  } else refuse(remedyOf(file) ?? `${file.name} is neither an image nor a .safetensors checkpoint`);
}

function refuse(reason: string): void {
  hasRefused = true;
  say(reason, "error");
}

/** Loads a checkpoint of the visitor; one that cannot be used leaves the page unchanged. */
function loadYours(file: File): void {
  failures.clear();
  const entry = prepare(yours(file.name, file));
  load(entry, () => {
    for (const other of entries.filter(({ origin }) => !SHIPPED.some((shipped) => shipped === origin))) detach(other);
    attach(entry, entries[0]);
    onMap = entry;
  });
}

function buildBackgrounds(): void {
  element("backgrounds", HTMLElement).append(
    ...BACKGROUNDS.map(([name, colour], at) => {
      const input = document.createElement("input");
      input.type = "radio";
      input.name = "background";
      input.title = name;
      input.checked = at === 0;
      input.setAttribute("aria-label", name);
      input.style.setProperty("--background", colour);
      input.addEventListener("change", () => (pad.background = at));
      return input;
    }),
  );
}
