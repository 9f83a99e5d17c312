// The page that compares encoders: what a visitor does there, and what it tells.
import assert from "node:assert/strict";
import { OLDER } from "../serve.mjs";
import { shotsOf } from "../shots.mjs";

/** Neighbours that a panel shows. */
const NEIGHBOURS = 8;

/** Serves the page of a job `{ site, webgpu, device, screenshots }`. */
export async function siteIn(page, job, serve) {
  // An emulated GPU compiles its shaders for as long as half a minute on a busy machine.
  page.setDefaultTimeout(180_000);
  // Without WebGPU the browser is an older one in other respects too.
  const address = `${await serve({ site: job.site }, undefined, job.webgpu ? "" : OLDER)}/site/`;
  const bundles = [];
  page.on("request", (request) => {
    // The site's builder adds a digest to the name of a file.
    if (request.url().endsWith(".wasm")) bundles.push(request.url().split("/").pop().split("-")[0]);
  });
  const panel = (title) => page.locator(".panel", { has: page.locator("h3", { hasText: title }) });
  const [fair, unconditional] = [panel("Fair-CCLK"), panel("SimCLR (NT-Xent)")];
  /** Waits until an encoder has answered. */
  const answers = (panel) => panel.locator("li").nth(NEIGHBOURS - 1).waitFor();
  const open = async (device = job.device) => {
    await page.goto(`${address}?device=${device}`);
    const isOlder = await page.evaluate(() => !Symbol.dispose && !PointerEvent.prototype.getCoalescedEvents);
    assert.equal(isOlder, !job.webgpu);
    await answers(unconditional);
  };
  const answerOf = async (panel) => (await panel.locator("li button").allTextContents()).join();
  /** The neighbours that an encoder finds once they are others than `old`. */
  const answerAfter = async (panel, old) => {
    const deadline = Date.now() + 180_000;
    while ((await answerOf(panel)) === old || (await panel.locator("li").count()) < NEIGHBOURS) {
      if (Date.now() > deadline) throw new Error(`no other answer than ${old}`);
      await page.waitForTimeout(20);
    }
    return answerOf(panel);
  };
  /** Draws a one; gives the new answer of Fair-CCLK. */
  const draw = async () => {
    const example = await answerOf(fair);
    const pad = await page.locator("#pad").boundingBox();
    await page.mouse.move(pad.x + pad.width * 0.5, pad.y + pad.height * 0.2);
    await page.mouse.down();
    await page.mouse.move(pad.x + pad.width * 0.5, pad.y + pad.height * 0.8, { steps: 8 });
    await page.mouse.up();
    return answerAfter(fair, example);
  };
  /** Chooses the encoder of the map. */
  const showOnMap = async (title) => {
    await page.locator("#switch label", { hasText: title }).click();
    await page.locator("#encoder", { hasText: title }).waitFor();
  };
  /** These bundles were requested, in this order. */
  const fetches = (...names) => assert.deepEqual(bundles, names);
  const textOf = (id) => page.locator(`#${id}`).textContent();
  return {
    address,
    answerAfter,
    answers,
    draw,
    fair,
    fetches,
    open,
    panel,
    shot: shotsOf(page, job, job.device),
    showOnMap,
    textOf,
    unconditional,
  };
}

/** The purpose of the page: the neighbours of one encoder share the digit, those of the other the background. */
export async function tellsTheEncodersApart({ fair, unconditional }) {
  const shares = async (panel) =>
    (await panel.locator(".note").textContent()).match(/\d+(?= %)/g).slice(0, 2).map(Number);
  const [[digit, background], others] = [await shares(fair), await shares(unconditional)];
  const tallies = `${digit} % digit, ${background} % background; without a condition ${others}`;
  assert.ok(digit > others[0] && background < others[1], tallies);
}
