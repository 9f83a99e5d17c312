// The loss lab on its page: what a visitor does there, and what the page tells.
import { readFile } from "node:fs/promises";
import { figuresOf } from "../figures.mjs";
import { shotsOf } from "../shots.mjs";

/** Serves the lab of a job `{ site, screenshots }`. */
export async function labIn(page, job, serve) {
  page.setDefaultTimeout(60_000);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const address = `${await serve({ site: job.site })}/site/lab.html`;
  const { numberOf, both } = figuresOf(page);

  const isThere = async () => {
    await page.locator("#lab:not([aria-busy])").waitFor();
    await page.locator("dl.numbers dd").nth(13).waitFor();
  };
  const settled = () => page.locator("body[data-lab=settled]").waitFor();
  /** Loads the page, with the end of an address if there is one, and waits for its numbers. */
  const open = async (end = "") => {
    // Another hash alone would not load the page again.
    await page.goto("about:blank");
    await page.goto(new URL(end, address).href);
    await isThere();
    await settled();
  };
  const preset = async (title) => {
    await page.locator("#presets button", { hasText: title }).click();
    await settled();
  };
  /** Runs gradient descent until something is done. */
  const descend = async (isDone) => {
    await page.locator("#run").click();
    const deadline = Date.now() + 60_000;
    while (!(await isDone())) {
      if (Date.now() > deadline) throw new Error("descent did not get there in a minute");
      await page.waitForTimeout(50);
    }
    await stop();
  };
  const stop = async () => {
    await page.locator("#run").press("Enter");
    await settled();
  };

  const saved = async (id) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`#${id}`).click()]);
    return readFile(await download.path(), "utf8");
  };
  /** The state that the page saves. */
  const state = async () => JSON.parse(await saved("save-json"));
  /** The address, once the page has written its state there. */
  const written = async () => {
    const { address: expected } = await state();
    await page.waitForFunction((expected) => location.href === expected, expected);
    return expected;
  };
  const textIn = (selector) => page.locator(selector).textContent();
  /** The setting that the page offers as a text. */
  const code = async (language) => {
    await page.locator(`#copy-${language}`).click();
    return textIn("#code");
  };

  const canvas = page.locator("[data-side=left] canvas");
  /** Gives the left canvas the focus, with the pointer where no scrolling brings a canvas under it. */
  const focusCanvas = async () => {
    await page.mouse.move(0, 0);
    await canvas.focus();
  };
  /** The text on the point in focus, once it begins with `start` and is another one than `before`. */
  const textOfFocus = async (start, before = "") => {
    const isThere = ([start, before]) => {
      const text = document.querySelector("#focus").textContent;
      return text.startsWith(start) && text.includes("other view") && text !== before && text;
    };
    return (await page.waitForFunction(isThere, [start, before])).jsonValue();
  };
  return {
    address,
    both,
    canvas,
    code,
    descend,
    focusCanvas,
    isThere,
    numberOf,
    open,
    preset,
    saved,
    settled,
    shot: shotsOf(page, job, "lab"),
    state,
    stop,
    textIn,
    textOfFocus,
    written,
  };
}

/** The largest difference of a coordinate between the points of two states. */
export function farthest(one, other) {
  const coordinatesOf = ({ sides }) => sides.flatMap(({ samples }) => samples.views.flat(2));
  const others = coordinatesOf(other);
  return Math.max(...coordinatesOf(one).map((value, at) => Math.abs(value - others[at])));
}
