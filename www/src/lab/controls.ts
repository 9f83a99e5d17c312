// The sliders of the settings, and the choices of how samples are drawn and painted.
import { element } from "../element.js";
import { CLASSES, type Draw } from "./samples.js";
import { positionOf, RANGES, SETTING_NAMES, type SettingName, type Settings, valueAt } from "./settings.js";
import { COUNTS, DIMENSIONS } from "./state.js";
import { hueColour } from "../theme.js";

export class Sliders {
  readonly #rows: ReadonlyMap<
    SettingName,
    { label: HTMLLabelElement; input: HTMLInputElement; output: HTMLOutputElement }
  >;

  constructor(onChange: (name: SettingName, value: number) => void) {
    this.#rows = new Map(SETTING_NAMES.map((name) => [name, buildSlider(name, onChange)]));
    element("sliders", HTMLElement).append(...[...this.#rows.values()].map(({ label }) => label));
  }

  /** Shows the values of the settings, and only those sliders that are in use. */
  show(settings: Settings, used: ReadonlySet<SettingName>): void {
    for (const [name, { label, input, output }] of this.#rows) {
      label.hidden = !used.has(name);
      input.value = `${positionOf(name, settings[name])}`;
      output.value = `${RANGES[name].symbol} = ${Number(settings[name].toPrecision(2))}`;
    }
  }
}

function buildSlider(name: SettingName, onChange: (name: SettingName, value: number) => void) {
  const [label, input, output] = [
    document.createElement("label"),
    document.createElement("input"),
    document.createElement("output"),
  ];
  const { title, low, high } = RANGES[name];
  Object.assign(input, { type: "range", name, min: `${low}`, max: `${high}`, step: "0.01" });
  input.addEventListener("input", () => onChange(name, valueAt(name, Number(input.value))));
  label.append(title, input, output);
  return { label, input, output };
}

const SPACES: Readonly<Record<number, string>> = { 2: "a circle", 3: "a sphere", 8: "8 dimensions" };

/** How samples are drawn. */
export class DrawControls {
  readonly #dims = element("dims", HTMLSelectElement);
  readonly #count = element("count", HTMLSelectElement);
  readonly #colours = element("colours", HTMLSelectElement);

  constructor(onChange: (change: Partial<Draw>) => void) {
    for (const dims of DIMENSIONS) this.#dims.append(new Option(SPACES[dims], `${dims}`));
    for (const count of COUNTS) this.#count.append(new Option(`${count} samples`, `${count}`));
    this.#colours.append(new Option("any hue", "hues"), new Option(`${CLASSES} colours`, "groups"));
    this.#dims.addEventListener("change", () => onChange({ dims: Number(this.#dims.value) }));
    this.#count.addEventListener("change", () => onChange({ count: Number(this.#count.value) }));
    this.#colours.addEventListener("change", () => onChange({ colours: this.#colours.value as Draw["colours"] }));
  }

  show({ dims, count, colours }: Draw): void {
    this.#dims.value = `${dims}`;
    this.#count.value = `${count}`;
    this.#colours.value = colours;
  }
}

/** The colour that a click paints with. */
export class Brush {
  readonly #hue = element("hue", HTMLInputElement);
  readonly #isOn = element("brush", HTMLInputElement);

  constructor() {
    const show = () => this.#hue.style.setProperty("--hue", hueColour(Number(this.#hue.value)));
    this.#hue.addEventListener("input", show);
    show();
  }

  /** True if a click of the pointer paints. */
  get isOn(): boolean {
    return this.#isOn.checked;
  }

  /** The hue to paint with, one of the classes where colours are classes. */
  hue({ colours }: Draw): number {
    const hue = Number(this.#hue.value);
    return colours === "hues" ? hue : (Math.round(hue * CLASSES) % CLASSES) / CLASSES;
  }
}
