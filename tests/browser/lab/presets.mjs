// The presets of the loss lab, and the stories that they tell.
// A job: { site, screenshots }. Gives the recipe of each preset by its title.
import assert from "node:assert/strict";
import { labIn } from "./page.mjs";

export default async function (job, page, serve) {
  const lab = await labIn(page, job, serve);
  await lab.open();
  const presets = {};
  for (const title of await page.locator("#presets button").allTextContents()) {
    await lab.preset(title);
    presets[title] = await shown(lab, title);
  }
  await isLoadedAgain(lab, page, presets);
  claimsHold(presets);
  await tellsWhileItHolds(lab, page);
  await drawsAPairApart(lab, page, presets["Uncouple the pair"]);
  await goesWithOtherPoints(lab, page);
  await namesTheSideOfTheWeights(lab, page);
  return Object.fromEntries(Object.entries(presets).map(([title, { recipe }]) => [title, recipe]));
}

/** The story, recipe and gradients that the page shows of a preset. */
async function shown({ both, code, textIn }, title) {
  assert.equal(await textIn("#status"), "", title);
  const story = await textIn("#story");
  assert.ok(story.length > 40, `${title}: ${story}`);
  return { story, recipe: await code("recipe"), gradient: await both("Gradient norm") };
}

/** Loaded again, the page still tells of the last preset. */
async function isLoadedAgain({ open, textIn, written }, page, presets) {
  await open(await written());
  const sphere = "On a sphere";
  assert.equal(await textIn("#story"), presets[sphere].story);
  assert.equal(await page.locator("#presets [aria-pressed=true]").textContent(), sphere);
}

/** The claims of the stories that are numbers. */
function claimsHold(presets) {
  const [withoutRidge, withRidge] = presets["No ridge, no gradient"].gradient;
  assert.ok(withoutRidge < withRidge / 2e5, `${withoutRidge}, with a ridge ${withRidge}`);
  const [clipped, unclipped] = presets["What clipping does"].gradient;
  assert.ok(clipped < unclipped / 2, `${clipped}, unclipped ${unclipped}`);
}

/** A story stays while settings change, and goes with its objectives. */
async function tellsWhileItHolds({ preset, settled, textIn }, page) {
  await preset("Mind the nearest");
  await page.locator("#sliders [name=beta]").fill("0");
  await settled();
  assert.notEqual(await textIn("#story"), "");
  await page.locator("[data-side=left] select").first().selectOption("dcl");
  await settled();
  assert.equal(await textIn("#story"), "");
}

/** The page says the pull of a pair before the pair is drawn apart. */
async function drawsAPairApart({ focusCanvas, preset, textOfFocus }, page, { story }) {
  await preset("Uncouple the pair");
  await focusCanvas();
  await page.keyboard.press("ArrowRight");
  assert.match(await textOfFocus("Sample 1, "), /left: pull of its other view 0\.32/);
  assert.match(story, /their pull is 0\.32/);
}

/** Other points are not those of the preset, nor of its story. */
async function goesWithOtherPoints({ preset, settled, textIn }, page) {
  await preset("What clipping does");
  await page.locator("#shuffle").click();
  await settled();
  assert.equal(await textIn("#story"), "");
  assert.equal(await page.locator("#presets [aria-pressed=true]").count(), 0);
}

/** The note of a map names the side that takes the weights shown. */
async function namesTheSideOfTheWeights({ settled, textIn }, page) {
  const sides = {
    released: "Fair-CCLK, left",
    normalised: "Fair-CCLK, right",
    paper: "Fair-CCLK, left, which takes other weights",
  };
  for (const [scheme, side] of Object.entries(sides)) {
    await page.selectOption("#weight-scheme", scheme);
    await settled();
    assert.equal((await textIn("#kernel-note")).split(": ")[0], side);
  }
}
