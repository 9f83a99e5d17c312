import { element } from "../element.js";
import { say } from "../status.js";
import { messageOf, STARTING } from "../words.js";
import { Lab } from "./lab.js";
import { PRESETS, type Preset } from "./presets.js";
import { toHash } from "./state.js";
import { TakeAway } from "./take-away.js";

const LARGEST_SEED = 999;

const isEmbedded = new URLSearchParams(location.search).get("embed") === "1";
document.documentElement.classList.toggle("embedded", isEmbedded);

const first = PRESETS[0] as Preset;
const main = element("lab", HTMLElement);
say(STARTING);
const lab = await Lab.open(first.state, location.hash).catch((error: unknown) => {
  // The attribute stays: without an engine there is nothing to press.
  main.setAttribute("aria-busy", "false");
  say(messageOf(error), "error");
  throw error;
});
element("charts", HTMLElement).append(...lab.history.elements);
new TakeAway(lab);

const story = element("story", HTMLElement);
const buttons = PRESETS.map(presetButton);
element("presets", HTMLElement).append(...buttons);
lab.onLeave = leave;
showPreset();

const onClick = (id: string, action: () => void) => element(id, HTMLButtonElement).addEventListener("click", action);
onClick("run", () => lab.descent.toggle());
onClick("step", () => void lab.descent.step());
onClick("reset", () => lab.startOver());
onClick("shuffle", () => {
  leave("over");
  lab.redraw({ seed: 1 + Math.floor(Math.random() * LARGEST_SEED) });
});

const outside = element("outside", HTMLAnchorElement);
outside.addEventListener("click", () => (outside.href = `./lab.html${toHash(lab.snapshot)}`));
window.addEventListener("hashchange", () => {
  lab.follow(location.hash);
  showPreset();
});

element("refused", HTMLElement).append(
  ...lab.catalogue.refused.map(({ name, reason }) => {
    const item = document.createElement("li");
    item.textContent = `${name}: ${reason}`;
    return item;
  }),
);
main.removeAttribute("aria-busy");

function presetButton(preset: Preset): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = preset.title;
  button.addEventListener("click", () => {
    lab.apply(preset);
    story.textContent = preset.story;
    press(button);
  });
  return button;
}

/** Shows the preset whose state an address has, if it is one. */
function showPreset(): void {
  const here = toHash(lab.snapshot);
  const at = PRESETS.findIndex(({ state }) => {
    const settings = lab.catalogue.complete(state.choices, state.kernel, state.settings);
    return toHash({ state: { ...state, settings } }) === here;
  });
  story.textContent = PRESETS[at]?.story ?? "";
  press(buttons[at]);
}

/** Says that the state is not that of a preset any more; its story stays where it may have told to change this. */
function leave(next: "told" | "over"): void {
  press(undefined);
  if (next === "over") story.textContent = "";
}

/** Shows which preset is in use. */
function press(button: HTMLButtonElement | undefined): void {
  for (const each of buttons) each.setAttribute("aria-pressed", `${each === button}`);
}
