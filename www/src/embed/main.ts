import { drawDigits } from "simile-web";
import { isCheckpoint, remedyOf, titleOf } from "../checkpoint-file.js";
import { deviceIn } from "../device-choice.js";
import { imagesOf } from "../digits.js";
import { acceptFiles, onFiles } from "../drop.js";
import { element, setText } from "../element.js";
import { deviceOf, type Loaded, loadEncoder } from "../load-encoder.js";
import { ImageMap } from "../map.js";
import { isImage, leftOut, listLeftOut, UNREADABLE } from "../omissions.js";
import { pathOf, sorted } from "../paths.js";
import { saveFile } from "../save.js";
import { type Shipped, SHIPPED } from "../shipped.js";
import { inSlices } from "../slices.js";
import { NEIGHBOURS, Space } from "../space.js";
import { say, sayNoEncoder } from "../status.js";
import { counted, encoderOf, loadingOf, messageOf, placeOf } from "../words.js";
import { Collection, type Named } from "./collection.js";
import { Nearest } from "./nearest.js";
import { toCsv, toNpy } from "./vectors-file.js";

const DRAWN = { count: 200, seed: 7 };

const parameters = new URLSearchParams(location.search);
const shipped = element("shipped", HTMLSelectElement);
const stop = element("stop", HTMLButtonElement);
const map = new ImageMap(element("map", HTMLCanvasElement));
const nearest = new Nearest(element("nearest", HTMLElement), (index) => choose(index));

let current: Loaded | undefined;
/** The address of the encoder, if it is a shipped one. */
let encoderAddress = "";
let isLoading = false;
/** The images that the next encoder embeds: those shown, or newer ones. */
let images: readonly Named[] = [];
/** How often images were asked for: digits come late, and none replace those that were asked for since. */
let asked = 0;
/** The paths of the files that came with them and are no images. */
let others: readonly string[] = [];
/** Vectors of the current encoder. */
let shown: { readonly collection: Collection; readonly space: Space } | undefined;
/** True while the page says why it could not search with another image. */
let hasFailed = false;
/** Cancels the current loading or embedding when a newer request arrives. */
let work = new AbortController();

for (const { source } of SHIPPED) shipped.append(new Option(titleOfShipped(source), source));
// The entry of the list while the encoder is none of the shipped ones.
const none = new Option("none of these", "");
none.hidden = true;
shipped.append(none);
shipped.addEventListener("change", () => void load(titleOfShipped(shipped.value), shipped.value));
element("remote", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const address = element("address", HTMLInputElement).value;
  void load(titleOf(address), address);
});
onFiles("checkpoint", take);
onFiles("images", take);
onFiles("folder", take);
onFiles("query", ([file]) => file && void ask(file));
acceptFiles(take);
element("drawn", HTMLButtonElement).addEventListener("click", () => {
  takeDrawn().catch((error: unknown) => say(messageOf(error), "error"));
});
stop.addEventListener("click", () => work.abort(new Error("stopped")));
element("save-npy", HTMLButtonElement).addEventListener("click", () => {
  if (shown) saveFile("vectors.npy", "application/octet-stream", toNpy(shown.collection.vectors));
});
element("save-csv", HTMLButtonElement).addEventListener("click", () => {
  if (shown) saveFile("vectors.csv", "text/csv", toCsv(shown.collection.names, shown.collection.vectors));
});
map.onChoose = choose;
map.onPoint = (index) => describe(index ?? map.chosen);

const checkpointAddress = parameters.get("checkpoint");
void load(checkpointAddress ? titleOf(checkpointAddress) : titleOfShipped(shipped.value), checkpointAddress ?? shipped.value);

/** Files of any kind: checkpoints are loaded, images embedded. */
function take(files: readonly File[]): void {
  const checkpoint = files.find(isCheckpoint);
  if (checkpoint) void load(titleOf(checkpoint.name), checkpoint);
  const named = sorted(files.filter(isImage)).map((source) => ({ name: pathOf(source), source }));
  const unsuitable = sorted(files.filter((file) => file !== checkpoint && !isImage(file)));
  if (named.length > 0) {
    asked++;
    others = unsuitable.map(pathOf);
    void embed(named);
  } else if (!checkpoint && files.length > 0) {
    const remedy = unsuitable.map(remedyOf).find((remedy) => remedy);
    say(remedy ?? "There is neither image nor checkpoint among these files.", "error");
  }
}

async function load(title: string, source: string | File): Promise<void> {
  const { signal } = begin();
  const address = shippedAt(source)?.source ?? "";
  shipped.value = address;
  isLoading = true;
  try {
    say(`Loading ${title}…`);
    const loaded = await loadEncoder(source, {
      device: deviceIn(parameters),
      onDevice: showDevice,
      onProgress: ({ loaded, total }) => say(loadingOf(title, loaded, total)),
      signal,
    });
    if (signal.aborted) {
      loaded.encoder.dispose();
      return;
    }
    current?.encoder.dispose();
    [current, encoderAddress] = [loaded, address];
    // Vectors of two encoders cannot be compared.
    shown = undefined;
    element("result", HTMLElement).hidden = true;
    const { info } = loaded.encoder;
    element("encoder", HTMLElement).textContent = encoderOf(title, info);
    showDevice();
    if (loaded.refusal === undefined) say("");
    else say(`${loaded.refusal}. The CPU computes instead.`, "error");
  } catch (error) {
    if (signal.aborted) return;
    isLoading = false;
    shipped.value = encoderAddress;
    if (!current) sayNoEncoder();
    const failure = messageOf(error);
    say(failure, "error");
    // Images that wait, because they came with the file or were being embedded, go to the encoder that is still there.
    const isWaiting = images.length > 0 && images !== shown?.collection.sources;
    if (current && isWaiting) await embed(images, failure);
    return;
  }
  isLoading = false;
  if (images.length > 0) await embed(images);
}

async function takeDrawn(): Promise<void> {
  const mine = ++asked;
  if (!isLoading) say("Drawing digits…");
  const digits = await drawDigits(DRAWN);
  if (mine !== asked) return;
  others = [];
  await embed(imagesOf(digits).map((source, at) => ({ name: `digit ${at + 1}: ${digits.labels[at]}`, source })));
}

/** Embeds images, once the encoder that is being loaded is there; a `failure` before that stays on the page. */
async function embed(named: readonly Named[], failure?: string): Promise<void> {
  images = named;
  if (isLoading) return;
  if (!current) {
    say("There is no encoder; the images are embedded when one is loaded.", "error");
    return;
  }
  const { signal } = begin();
  stop.hidden = false;
  const tell = (text: string, kind: "info" | "error" = "info") =>
    failure === undefined ? say(text, kind) : say(`${failure} · ${text}`, "error");
  try {
    const progress = (done: number) => tell(`Embedding ${done} of ${named.length}…`);
    const collection = await Collection.embed(named, current.encoder, progress, signal);
    if (collection.names.length === 0) throw new Error("None of these files could be read as an image.");
    await show(collection, signal);
    const { unreadable, names } = collection;
    const notes = [
      `${counted(names.length, "image")} ${names.length === 1 ? "was" : "were"} embedded.`,
      leftOut(others, "no image to this browser"),
      leftOut(unreadable, UNREADABLE),
    ];
    tell(notes.filter(Boolean).join(" "), unreadable.length > 0 ? "error" : "info");
    listLeftOut([...others, ...unreadable]);
  } catch (error) {
    if (signal !== work.signal) return;
    images = shown?.collection.sources ?? images;
    tell(messageOf(error), "error");
  } finally {
    if (signal === work.signal) hideStop();
  }
}

async function show(collection: Collection, signal: AbortSignal): Promise<void> {
  const space = await inSlices(Space.fit(collection.vectors));
  signal.throwIfAborted();
  shown = { collection, space };
  images = collection.sources;
  element("result", HTMLElement).hidden = false;
  element("size", HTMLElement).textContent =
    `${counted(collection.vectors.length, "vector")} of ${counted(collection.vectors[0]?.length ?? 0, "number")}.`;
  await map.show(collection.thumbnails, space.vectors);
  signal.throwIfAborted();
  choose(0);
}

function choose(index: number): void {
  const query = shown?.space.vectors[index];
  if (!shown || !query) return;
  map.chosen = index;
  search(query, shown.collection.names[index] ?? "", index);
  describe(index);
}

/** Searches with an image that is not among the others. */
async function ask(source: File): Promise<void> {
  const searched = shown;
  if (!current || !searched) return;
  try {
    const vector = await current.encoder.embed(source);
    // Other images may be shown by now, or those of another encoder.
    if (shown !== searched) return;
    map.chosen = undefined;
    search(searched.space.place(vector), source.name);
    describe(undefined);
    if (hasFailed) say("");
    hasFailed = false;
  } catch (error) {
    if (shown !== searched) return;
    hasFailed = true;
    say(messageOf(error), "error");
  }
}

function search(query: Float32Array, name: string, itself?: number): void {
  if (!shown) return;
  const neighbours = shown.space.nearest(query, NEIGHBOURS + 1).filter(({ index }) => index !== itself);
  const closest = neighbours.slice(0, NEIGHBOURS);
  nearest.show(closest, shown.collection);
  map.showQuery(query, closest);
  element("asked", HTMLElement).textContent = closest.length > 0 ? `to ${name}` : `to ${name}: there is no other image`;
}

function describe(index: number | undefined): void {
  const name = index === undefined ? undefined : shown?.collection.names[index];
  setText("pointed", name ?? "Point at an image for its name; choose one to search with it.");
}

/** Cancels the work in progress. */
function begin(): AbortController {
  work.abort(new Error("something else was asked for"));
  work = new AbortController();
  hideStop();
  listLeftOut([]);
  return work;
}

/** Hides the button that cancels; the focus of a keyboard goes on to what begins the work again. */
function hideStop(): void {
  const hadFocus = document.activeElement === stop;
  stop.hidden = true;
  if (hadFocus) element("images", HTMLInputElement).focus();
}

function showDevice(): void {
  if (current) element("device", HTMLElement).textContent = placeOf(deviceOf(current));
}

function titleOfShipped(address: string): string {
  const checkpoint = shippedAt(address);
  return checkpoint ? `${checkpoint.title} on digits` : titleOf(address);
}

function shippedAt(address: string | File): Shipped | undefined {
  return SHIPPED.find(({ source }) => source === address);
}
