import { drawDigits, Encoder } from "simile-web";
import { acceptFiles } from "../drop.js";
import { element } from "../element.js";
import { ImageMap } from "../map.js";
import { pathOf, sorted } from "../paths.js";
import { saveFile } from "../save.js";
import { inSlices } from "../slices.js";
import { Space } from "../space.js";
import { amount, messageOf, placeOf, say } from "../words.js";
import { Collection, type Named } from "./collection.js";
import { Nearest } from "./nearest.js";
import { toCsv, toNpy } from "./vectors-file.js";

const SHIPPED = [
  ["Fair-CCLK on digits", "./checkpoints/fair-digits.safetensors"],
  ["SimCLR (NT-Xent) on digits", "./checkpoints/simclr.safetensors"],
] as const;
const NEIGHBOURS = 8;
const DRAWN = { count: 200, seed: 7 };

const parameters = new URLSearchParams(location.search);
const shipped = element("shipped", HTMLSelectElement);
const canvas = element("map", HTMLCanvasElement);
const stop = element("stop", HTMLButtonElement);
const map = new ImageMap(canvas);
const nearest = new Nearest(element("nearest", HTMLElement), (index) => choose(index));

let encoder: Encoder | undefined;
let shown: { readonly collection: Collection; readonly space: Space } | undefined;
let chosen = -1;
/** Cancels the current loading or embedding when a newer request arrives. */
let work = new AbortController();

for (const [title, address] of SHIPPED) shipped.append(new Option(title, address));
shipped.addEventListener("change", () => void loadEncoder(titleOf(shipped.value), shipped.value));
element("remote", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const address = element("address", HTMLInputElement).value;
  void loadEncoder(nameOf(address), address);
});
onFiles("checkpoint", take);
onFiles("images", take);
onFiles("folder", take);
onFiles("query", ([file]) => file && void ask(file));
acceptFiles(take);
element("drawn", HTMLButtonElement).addEventListener("click", () => void takeDrawn());
stop.addEventListener("click", () => work.abort(new Error("stopped")));
element("save-npy", HTMLButtonElement).addEventListener("click", () => {
  if (shown) saveFile("vectors.npy", "application/octet-stream", toNpy(shown.collection.vectors));
});
element("save-csv", HTMLButtonElement).addEventListener("click", () => {
  if (shown) saveFile("vectors.csv", "text/csv", toCsv(shown.collection.names, shown.collection.vectors));
});
map.onChoose = choose;
map.onPoint = (index) => describe(index ?? chosen);
canvas.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step || !shown) return;
  event.preventDefault();
  const count = shown.collection.names.length;
  choose((chosen + step + count) % count);
});

const given = parameters.get("checkpoint");
void loadEncoder(given ? nameOf(given) : titleOf(shipped.value), given ?? shipped.value);

/** Files of any kind: checkpoints are loaded, images embedded. */
function take(files: readonly File[]): void {
  const checkpoint = files.find(({ name }) => name.endsWith(".safetensors"));
  if (checkpoint) void loadEncoder(nameOf(checkpoint.name), checkpoint);
  const images = files.filter(({ type }) => type.startsWith("image/"));
  const named = sorted(images).map((source) => ({ name: pathOf(source), source }));
  if (named.length > 0) void embed(named);
  else if (!checkpoint && files.length > 0) say("There is neither image nor checkpoint among these files.", "error");
}

async function loadEncoder(title: string, source: string | File): Promise<void> {
  const { signal } = begin();
  try {
    say(`Loading ${title}…`);
    const loaded = await Encoder.load(source, {
      device: (parameters.get("device") ?? "auto") as "auto",
      onDevice: showDevice,
      onProgress: ({ loaded, total }) => say(`Loading ${title}… ${amount(loaded, total)}`),
      signal,
    });
    encoder?.dispose();
    encoder = loaded;
    const { info } = loaded;
    element("encoder", HTMLElement).textContent =
      `${title}: ${info.encoder}, ${info.inputSize.join(" × ")} in, ${info.embeddingSize} numbers out`;
    showDevice();
    say("");
  } catch (error) {
    if (!signal.aborted) say(messageOf(error), "error");
    return;
  }
  // The new encoder embeds the images that are already on the page.
  if (shown) await embed(shown.collection.sources);
}

async function takeDrawn(): Promise<void> {
  const { width, height, pixels, labels } = await drawDigits(DRAWN);
  const size = width * height * 4;
  const images = Array.from(labels, (label, at) => {
    const data = new Uint8ClampedArray(pixels.subarray(at * size, (at + 1) * size));
    return { name: `digit ${at + 1}: ${label}`, source: new ImageData(data, width, height) };
  });
  await embed(images);
}

async function embed(images: readonly Named[]): Promise<void> {
  if (!encoder) {
    say("The encoder is still being loaded; drop the images again in a moment.", "error");
    return;
  }
  const { signal } = begin();
  stop.hidden = false;
  try {
    const progress = (done: number) => say(`Embedding ${done} of ${images.length}…`);
    const collection = await Collection.embed(images, encoder, progress, signal);
    if (collection.names.length === 0) throw new Error("None of these files could be read as an image.");
    await show(collection, signal);
    const skipped = collection.unreadable;
    if (skipped.length > 0) say(`No image could be read from ${skipped.join(", ")}.`, "error");
    else say(`${collection.names.length} images were embedded.`);
  } catch (error) {
    if (!signal.aborted || signal === work.signal) say(messageOf(error), "error");
  } finally {
    if (signal === work.signal) stop.hidden = true;
  }
}

async function show(collection: Collection, signal: AbortSignal): Promise<void> {
  const space = await inSlices(Space.fit(collection.vectors));
  signal.throwIfAborted();
  shown = { collection, space };
  element("result", HTMLElement).hidden = false;
  element("size", HTMLElement).textContent =
    `${collection.vectors.length} vectors of ${collection.vectors[0]?.length ?? 0} numbers.`;
  await map.show(collection.thumbnails, space.vectors);
  signal.throwIfAborted();
  choose(0);
}

function choose(index: number): void {
  const query = shown?.space.vectors[index];
  if (!shown || !query) return;
  chosen = index;
  search(query, shown.collection.names[index] ?? "", index);
  describe(index);
}

/** Searches with an image that is not among the others. */
async function ask(source: File): Promise<void> {
  if (!encoder || !shown) return;
  try {
    const query = shown.space.place(await encoder.embed(source));
    chosen = -1;
    search(query, source.name);
  } catch (error) {
    say(messageOf(error), "error");
  }
}

function search(query: Float32Array, name: string, itself = -1): void {
  if (!shown) return;
  const neighbours = shown.space.nearest(query, NEIGHBOURS + 1).filter(({ index }) => index !== itself);
  const closest = neighbours.slice(0, NEIGHBOURS);
  nearest.show(closest, shown.collection);
  map.showQuery(query, closest);
  element("asked", HTMLElement).textContent = `to ${name}`;
}

function describe(index: number): void {
  const name = shown?.collection.names[index];
  element("pointed", HTMLElement).textContent = name ?? "Point at an image for its name; choose one to search with it.";
}

/** Cancels the work in progress. */
function begin(): AbortController {
  work.abort(new Error("something else was asked for"));
  work = new AbortController();
  return work;
}

function showDevice(): void {
  if (!encoder) return;
  element("device", HTMLElement).textContent = placeOf(encoder.device);
}

function onFiles(id: string, action: (files: readonly File[]) => void): void {
  const input = element(id, HTMLInputElement);
  input.addEventListener("change", () => {
    action([...(input.files ?? [])]);
    input.value = "";
  });
}

function titleOf(address: string): string {
  return SHIPPED.find(([, shippedAddress]) => shippedAddress === address)?.[0] ?? nameOf(address);
}

function nameOf(address: string): string {
  return (address.split("/").at(-1) ?? address).replace(/\.safetensors$/, "");
}
