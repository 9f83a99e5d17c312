// The samples of the loss lab go down both losses.
// A job: { site, screenshots }. Gives what the page saved in the middle of a run.
import assert from "node:assert/strict";
import { countFrames } from "../frames.mjs";
import { holdEngine } from "../hold-engine.mjs";
import { farthest, labIn } from "./page.mjs";

/** Evaluations of both sides in 60 steps: without motion a descent shows every fiftieth. */
const EVALUATIONS = 120;

export default async function (job, page, serve) {
  const lab = await labIn(page, job, serve);
  await waitsForTheEngine(lab, page);
  await lab.shot("light");
  await lowersTheLosses(lab);
  await showsFewStepsWithoutMotion(lab, page);
  await speaksOfNoStep(lab, page);
  await asksForOneFrameAtATime(lab, page);
  await restsWithoutRidge(lab);
  return savesWhatBelongsTogether(lab, page);
}

/** While the engine is on its way there is nothing to press, and the page says what it waits for. */
async function waitsForTheEngine({ address, isThere }, page) {
  const release = await holdEngine(page);
  await page.goto(address);
  await page.locator("#status", { hasText: "Starting the engine" }).waitFor();
  assert.equal(await page.locator("#lab :is(button, select, input, summary):visible").count(), 0);
  await release();
  await isThere();
}

/** One objective mixes the colours where the other does not. */
async function lowersTheLosses({ both, descend, numberOf, preset, shot }) {
  await preset("Set a colour aside");
  const before = { loss: await both("Loss"), shared: await both("Shared colour") };
  await descend(
    async () => (await numberOf("right", "Shared colour")) < (await numberOf("left", "Shared colour")) - 0.3,
  );
  const after = { loss: await both("Loss"), shared: await both("Shared colour") };
  await shot("descended");
  const figures = JSON.stringify({ before, after });
  for (const side of [0, 1]) assert.ok(after.loss[side] < before.loss[side] - 0.1, figures);
  assert.equal(before.shared[0], before.shared[1]);
  assert.ok(after.shared[1] < after.shared[0] - 0.2, figures);
}

async function showsFewStepsWithoutMotion({ preset, stop }, page) {
  const shown = async (reducedMotion) => {
    await page.emulateMedia({ reducedMotion });
    await preset("Set a colour aside");
    await page.evaluate(countEvaluations);
    await page.locator("#run").click();
    await page.waitForFunction((most) => window.counted.evaluations >= most, EVALUATIONS);
    const count = await page.evaluate(() => window.counted.shown);
    await stop();
    return count;
  };
  const [still, moving] = [await shown("reduce"), await shown("no-preference")];
  assert.ok(still >= 1 && still * 3 < moving, `${still} still, ${moving} moving`);
}

/** Counts from now on how often a side is evaluated, and how often the page shows other numbers. Runs in the page. */
function countEvaluations() {
  const counted = { evaluations: 0, shown: 0 };
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...more) {
    if (message.method === "evaluate") counted.evaluations++;
    postMessage.call(this, message, ...more);
  };
  new MutationObserver(() => counted.shown++).observe(document.querySelector("dl.numbers"), { childList: true });
  window.counted = counted;
}

/** While it runs, the texts follow the samples, and a screen reader speaks none of them. */
async function speaksOfNoStep({ focusCanvas, preset, textOfFocus }, page) {
  const live = () =>
    page.evaluate(() => ["focus", "pair", "cell"].map((id) => document.querySelector(`#${id}`).ariaLive));
  await preset("Set a colour aside");
  await page.locator("#run").click();
  assert.deepEqual(await live(), ["off", "off", "off"]);
  await focusCanvas();
  await page.keyboard.press("ArrowRight");
  await textOfFocus("Sample 1, ", await textOfFocus("Sample 1, "));
  await page.keyboard.press("ArrowRight");
  await textOfFocus("Sample 2, ");
  await page.locator("#run").press("Enter");
  assert.deepEqual(await live(), ["polite", "polite", "polite"]);
}

/** Stopped and started at once it is one descent still. */
async function asksForOneFrameAtATime({ settled, stop }, page) {
  await settled();
  const frames = await countFrames(page);
  await page.evaluate(() => {
    for (let click = 0; click < 3; click++) document.querySelector("#run").click();
  });
  // By the clock, because a frame that this asks for would count too.
  await page.waitForFunction(() => window.countedFrames.shown >= 30, undefined, { polling: 50 });
  await stop();
  const { asked, shown } = await frames();
  assert.equal(asked, shown);
}

/** Without a ridge the left side rests while the right one moves. */
async function restsWithoutRidge({ both, descend, numberOf, preset }) {
  await preset("No ridge, no gradient");
  const before = await both("Loss");
  await descend(async () => (await numberOf("right", "Loss")) < before[1] - 0.5);
  const after = await both("Loss");
  for (const [left] of [before, after]) assert.ok(Math.abs(left - Math.log(16)) < 1e-3, `${before}, then ${after}`);
}

/** Everything saved while the samples move belongs together, and its address shows it again. */
async function savesWhatBelongsTogether({ open, preset, state }, page) {
  await preset("Set a colour aside");
  await page.evaluate(saveAhead);
  await page.locator("#run").click();
  const saved = await state();
  await page.locator("#run").press("Enter");
  await open(saved.address);
  const difference = farthest(saved, await state());
  assert.ok(difference < 1e-3, `the address has points that are ${difference} apart`);
  return saved;
}

/**
 * Has a file saved when the next evaluation is asked for: the samples have moved on then, and the results are of those
 * before. Runs in the page.
 */
function saveAhead() {
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
