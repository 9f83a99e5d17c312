import { type CheckpointSource, type DeviceChoice, type DeviceInfo, Encoder } from "simile-web";
import { acceptFiles } from "./drop.js";
import { element } from "./element.js";
import { Gallery } from "./gallery.js";
import { GalleryMap } from "./map.js";
import { showNeighbours, verdict } from "./neighbours.js";
import { GROUNDS, Pad } from "./pad.js";

const CHECKPOINT = "./checkpoints/fair-digits.safetensors";
const NEIGHBOURS = 8;

const parameters = new URLSearchParams(location.search);
const list = element("neighbours", HTMLElement);
const choice = element("choice", HTMLSelectElement);
const pad = new Pad(element("pad", HTMLCanvasElement));
const map = new GalleryMap(element("map", HTMLCanvasElement));

let encoder: Encoder | undefined;
let gallery: Gallery | undefined;
let checkpoint: CheckpointSource = parameters.get("checkpoint") ?? CHECKPOINT;
let isBusy = false;
let isStale = false;

choice.value = parameters.get("device") ?? "auto";
// A select that has no such option is empty.
if (!choice.value) choice.value = "auto";
buildGrounds();
pad.onChange = () => void query();
map.onChoose = (index) => chooseFromGallery(index);
choice.addEventListener("change", () => {
  parameters.set("device", choice.value);
  history.replaceState(null, "", `?${parameters}`);
  void load(checkpoint);
});
element("clear", HTMLButtonElement).addEventListener("click", () => pad.clear());
element("another", HTMLButtonElement).addEventListener("click", () => {
  if (gallery) chooseFromGallery(Math.floor(Math.random() * gallery.images.length));
});
for (const id of ["image", "checkpoint"]) {
  const input = element(id, HTMLInputElement);
  input.addEventListener("change", () => {
    takeFiles([...(input.files ?? [])]);
    input.value = "";
  });
}
acceptFiles(takeFiles);
void load(checkpoint);

/** Loads a checkpoint, embeds the gallery with it and answers the query again. */
async function load(source: CheckpointSource): Promise<void> {
  say("Loading the encoder…");
  try {
    const loaded = await Encoder.load(source, {
      device: choice.value as DeviceChoice,
      onProgress: ({ loaded, total }) => say(`Loading the encoder… ${amount(loaded, total)}`),
      onDevice: showDevice,
    });
    encoder?.dispose();
    encoder = loaded;
    checkpoint = source;
    const { info } = loaded;
    element("encoder", HTMLElement).textContent =
      `${info.encoder}, ${info.inputSize.join(" × ")} in, ${info.embeddingSize} numbers out`;
    showDevice(loaded.device);
    gallery ??= await Gallery.draw();
    await gallery.embedWith(loaded);
    map.showGallery(gallery);
    element("map-note", HTMLElement).textContent =
      `${gallery.images.length} digits that the page drew, at the two main directions of their embeddings. Choose one to ask for its neighbours.`;
    say("");
    await query();
  } catch (error) {
    if (!encoder) element("encoder", HTMLElement).textContent = "none";
    say(error instanceof Error ? error.message : String(error), "error");
  }
}

/** Embeds what the pad shows. While one query runs, only the newest of the others waits. */
async function query(): Promise<void> {
  element("pad-hint", HTMLElement).hidden = !pad.isEmpty;
  element("ground", HTMLFieldSetElement).disabled = pad.showsPicture;
  if (isBusy) {
    isStale = true;
    return;
  }
  isBusy = true;
  try {
    do {
      isStale = false;
      await answer();
    } while (isStale);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), "error");
  } finally {
    isBusy = false;
  }
}

async function answer(): Promise<void> {
  if (!encoder || !gallery) return;
  if (pad.isEmpty) {
    list.replaceChildren();
    element("verdict", HTMLElement).textContent = "";
    map.showQuery(undefined, []);
    return;
  }
  const start = performance.now();
  const vector = await encoder.embed(pad.image);
  element("timing", HTMLElement).textContent = `${(performance.now() - start).toFixed(0)} ms`;
  const neighbours = gallery.nearest(vector, NEIGHBOURS);
  showNeighbours(list, gallery, neighbours, chooseFromGallery);
  element("verdict", HTMLElement).textContent = verdict(gallery, neighbours);
  map.showQuery(vector, neighbours);
}

function chooseFromGallery(index: number): void {
  const image = gallery?.images[index];
  if (image) pad.show(image);
}

function takeFiles(files: readonly File[]): void {
  const [file] = files;
  if (!file) return;
  if (file.name.endsWith(".safetensors")) void load(file);
  else if (file.type.startsWith("image/")) {
    createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "none" }).then(
      (image) => pad.show(image),
      () => say(`${file.name} cannot be read as an image`, "error"),
    );
  } else say(`${file.name} is neither an image nor a .safetensors checkpoint`, "error");
}

function buildGrounds(): void {
  element("grounds", HTMLElement).append(
    ...GROUNDS.map(([name, colour], at) => {
      const input = document.createElement("input");
      input.type = "radio";
      input.name = "ground";
      input.title = name;
      input.checked = at === 0;
      input.setAttribute("aria-label", name);
      input.style.setProperty("--ground", colour);
      input.addEventListener("change", () => (pad.ground = colour));
      return input;
    }),
  );
}

function showDevice({ kind, name, software, reason }: DeviceInfo): void {
  const place = kind === "webgpu" ? `WebGPU: ${name}${software ? ", emulated" : ""}` : `CPU: ${name}`;
  element("device", HTMLElement).textContent = reason ? `${place} (${reason})` : place;
}

function amount(loaded: number, total: number | undefined): string {
  return total ? `${Math.round((100 * loaded) / total)} %` : `${Math.round(loaded / 1024)} kB`;
}

function say(text: string, kind: "info" | "error" = "info"): void {
  const status = element("status", HTMLElement);
  status.textContent = text;
  status.dataset["kind"] = kind;
}
