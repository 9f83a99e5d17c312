// The steps of the tests of the loss lab on its page.
import { readFile } from "node:fs/promises";

export function labIn(page) {
  const open = async (address) => {
    // Another hash alone would not load the page again.
    await page.goto("about:blank");
    await page.goto(address);
    await page.locator("#lab:not([aria-busy])").waitFor();
    await page.locator("dl.numbers dd").nth(13).waitFor();
  };
  const saved = async (id) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`#${id}`).click()]);
    return readFile(await download.path(), "utf8");
  };
  const state = async () => JSON.parse(await saved("save-json"));
  const figure = (side, name) =>
    page.locator(`[data-side=${side}] dl.numbers div`, { has: page.locator("dt", { hasText: name }) }).locator("dd");
  const numberOf = async (side, name) => Number((await figure(side, name).textContent()).replace("−", "-"));
  const both = async (name) => [await numberOf("left", name), await numberOf("right", name)];
  const preset = (title) => page.locator("#presets button", { hasText: title }).click();
  const settled = () => page.locator("body[data-lab=settled]").waitFor();
  const descend = async (isDone) => {
    await page.locator("#run").click();
    const deadline = Date.now() + 60_000;
    while (!(await isDone())) {
      if (Date.now() > deadline) throw new Error("descent did not get there in a minute");
      await page.waitForTimeout(50);
    }
    await page.locator("#run").press("Enter");
    await settled();
  };
  return { open, saved, state, numberOf, both, preset, settled, descend };
}

/**
 * Has a file saved when the next evaluation is asked for: the samples have moved on then, and the results are of those
 * before. Runs in the page.
 */
export function saveAhead() {
  const button = document.querySelector("#save-json");
  const { postMessage } = Worker.prototype;
  let isWanted = false;
  const wait = (event) => {
    if (event.target !== button) return;
    event.stopPropagation();
    isWanted = true;
  };
  addEventListener("click", wait, { capture: true });
  Worker.prototype.postMessage = function (message, ...more) {
    postMessage.call(this, message, ...more);
    if (!isWanted || message.method !== "evaluate") return;
    Worker.prototype.postMessage = postMessage;
    removeEventListener("click", wait, { capture: true });
    button.click();
  };
}

/** The largest difference of a coordinate between the points of two states. */
export function farthest(one, other) {
  const coordinatesOf = ({ sides }) => sides.flatMap(({ samples }) => samples.views.flat(2));
  const others = coordinatesOf(other);
  return Math.max(...coordinatesOf(one).map((value, at) => Math.abs(value - others[at])));
}
