// The controls of the parameters, and the choices of how samples are drawn and painted.
import type { ListedParameter } from "simile-web";
import { createElement } from "../create-element.js";
import { element } from "../element.js";
import { CLASSES, colourInWords, type Draw } from "./samples.js";
import { positionOf, type Settings, shown, type Value, valueAt, valueOf } from "./settings.js";
import { COUNTS, DIMENSIONS } from "./state.js";
import { hueColour } from "../theme.js";

/** A control on the page, which shows a value. */
interface Control {
  readonly label: HTMLLabelElement;
  show(value: Value): void;
}

/** One control for each parameter in use. */
export class ParameterControls {
  readonly #place = element("sliders", HTMLElement);
  #shown: readonly ListedParameter[] = [];
  #controls: readonly Control[] = [];

  constructor(private readonly onChange: (name: string, value: Value) => void) {}

  /** Shows the values of parameters; controls stay where they are, and keep the focus, while the parameters stay the same. */
  show(parameters: readonly ListedParameter[], settings: Settings): void {
    const isSame = parameters.every((parameter, at) => parameter === this.#shown[at]);
    if (!isSame || parameters.length !== this.#shown.length) {
      this.#shown = parameters;
      this.#controls = parameters.map((one) => controlOf(one, (value) => this.onChange(one.name, value)));
      this.#place.replaceChildren(...this.#controls.map(({ label }) => label));
    }
    this.#controls.forEach((control, at) => {
      const parameter = parameters[at];
      if (parameter) control.show(valueOf(parameter, settings));
    });
  }
}

/** Words that the names of parameters abbreviate. */
const WORDS: Readonly<Record<string, string>> = {
  align: "alignment",
  bn: "batch norm",
  eps: "epsilon",
  lambd: "lambda",
  unif: "uniformity",
  w: "weight",
};

/** A name such as `tau_plus` in words; a letter is a symbol. */
function titleOf({ name }: ListedParameter): string {
  if (name.length === 1) return name;
  const words = name.split("_").map((word) => WORDS[word] ?? word);
  const title = words.join(" ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

function controlOf(parameter: ListedParameter, onChange: (value: Value) => void): Control {
  const label = createElement("label", "", titleOf(parameter));
  const withInput = parameter.kind === "choice" ? withSelect : parameter.kind === "flag" ? withBox : withSlider;
  const control = withInput(label, parameter, onChange);
  label.append(createElement("small", "", parameter.meaning));
  return control;
}

function withSlider(
  label: HTMLLabelElement,
  parameter: ListedParameter,
  onChange: (value: number) => void,
): Control {
  const [input, output] = [document.createElement("input"), document.createElement("output")];
  const { low = 0, high = 1, scale } = parameter.slider ?? {};
  const [min, max] = [low, high].map((value) => `${positionOf(parameter, value)}`);
  const step = scale === "integers" ? "1" : "0.01";
  Object.assign(input, { type: "range", name: parameter.name, min, max, step });
  input.addEventListener("input", () => onChange(valueAt(parameter, Number(input.value))));
  label.append(input, output);
  const show = (value: Value) => {
    input.value = `${positionOf(parameter, Number(value))}`;
    output.value = parameter.symbol ? `${parameter.symbol} = ${shown(value, 2)}` : shown(value, 2);
  };
  return { label, show };
}

function withBox(label: HTMLLabelElement, { name }: ListedParameter, onChange: (value: boolean) => void): Control {
  const input = document.createElement("input");
  Object.assign(input, { type: "checkbox", name });
  input.addEventListener("change", () => onChange(input.checked));
  label.append(input);
  return { label, show: (value) => (input.checked = value === true) };
}

function withSelect(
  label: HTMLLabelElement,
  { name, names = [] }: ListedParameter,
  onChange: (value: string) => void,
): Control {
  const select = document.createElement("select");
  select.name = name;
  select.append(...names.map((each) => new Option(each, each)));
  select.addEventListener("change", () => onChange(select.value));
  label.append(select);
  return { label, show: (value) => (select.value = `${value}`) };
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
    const show = () => {
      const hue = Number(this.#hue.value);
      this.#hue.style.setProperty("--hue", hueColour(hue));
      this.#hue.setAttribute("aria-valuetext", colourInWords(hue));
    };
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
