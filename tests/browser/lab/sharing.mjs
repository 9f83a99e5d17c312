// The files and the address that a visitor takes along from the loss lab, and an address that asks for more than there is.
// A job: { site, screenshots }.
import assert from "node:assert/strict";
import { labIn } from "./page.mjs";

export default async function (job, page, serve) {
  const lab = await labIn(page, job, serve);
  await lab.open();
  await lab.preset("Set a colour aside");
  await savesATable(lab);
  await savesADrawing(lab, page);
  await copiesCode(page);
  await namesWhatItCannotTake(lab, page);
  await warnsOfNumbersThatMeanNothing(lab, page);
}

/** A line for each point of each view and side. */
async function savesATable({ saved }) {
  const columns = (await saved("save-csv")).trim().split("\n").map((line) => line.split(",").length);
  assert.deepEqual(columns, Array(1 + 2 * 2 * 16).fill(9));
}

async function savesADrawing({ saved }, page) {
  const drawing = await page.evaluate((text) => {
    const drawing = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      error: drawing.querySelector("parsererror")?.textContent ?? "",
      shapes: drawing.querySelectorAll("circle, rect, polyline").length,
      last: [...drawing.querySelectorAll("circle, rect")].at(-1)?.localName,
    };
  }, await saved("save-svg"));
  assert.equal(drawing.error, "");
  assert.ok(drawing.shapes > 64, `${drawing.shapes} shapes`);
  // The end of the left path in the last chart is a disc, and lies above the square of the right one.
  assert.equal(drawing.last, "circle");
}

/** Notes the texts that a page copies: all pages of the browser have one clipboard. Runs in the page. */
function noteCopies() {
  const { writeText } = Clipboard.prototype;
  Clipboard.prototype.writeText = async function (text) {
    await writeText.call(this, text);
    window.copied = text;
  };
}

async function copiesCode(page) {
  await page.evaluate(noteCopies);
  const copied = async (language) => {
    await page.evaluate(() => (window.copied = undefined));
    await page.locator(`#copy-${language}`).click();
    const text = await (await page.waitForFunction(() => window.copied)).jsonValue();
    await page.locator("#taken", { hasText: "copied" }).waitFor();
    return text;
  };
  const [rust, recipe, torch] = [await copied("rust"), await copied("recipe"), await copied("torch")];
  assert.equal(rust.split("use simile_core::loss;").length, 2, rust);
  for (const part of ["loss::build", "let left = {", "let right = {"]) assert.ok(rust.includes(part), rust);
  assert.ok(recipe.includes("[variant.objective]"), recipe);
  for (const part of ["def fair_cclk", "def nt_xent", "\nleft = ", "\nright = "]) assert.ok(torch.includes(part), torch);
}

/** Goes to another hash of the page, which is not loaded again. */
async function follow({ settled }, page, hash) {
  await page.evaluate((hash) => {
    const isFollowed = new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
    location.hash = hash;
    return isFollowed;
  }, hash);
  await settled();
}

/** Parts of an address that the lab cannot take are named until something else is chosen. */
async function namesWhatItCannotTake(lab, page) {
  const { open, settled, textIn } = lab;
  await open("#left=zzz&right=fair-cclk.zzz&temperature=NaN&points=9&a=!");
  assert.equal(
    await textIn("#status"),
    "The lab cannot take left=zzz, right=fair-cclk.zzz, temperature=NaN, points=9, a=! of the address; it keeps its own.",
  );
  await follow(lab, page, "left=dcl&tau_plus=0.4");
  assert.equal(await textIn("#status"), "");
  await follow(lab, page, "seed=-1");
  assert.equal(await textIn("#status"), "The lab cannot take seed=-1 of the address; it keeps its own.");
  await page.selectOption("#count", "8");
  await settled();
  assert.equal(await textIn("#status"), "");
}

/** Numbers that mean nothing are told of, on whichever side they stand. */
async function warnsOfNumbersThatMeanNothing(lab, page) {
  const { focusCanvas, open, settled, textIn } = lab;
  const narrow = "seed=8&points=8&kernel=rbf&bandwidth=0.03";
  const apart = "no two colours are alike under this kernel, so colour has no effect; raise the bandwidth σ.";
  await open(`#${narrow}&left=fair-cclk.paper&right=fair-cclk.released`);
  assert.equal(await textIn("#status"), `both sides: ${apart}`);
  await follow(lab, page, `${narrow}&left=nt-xent&right=fair-cclk.paper`);
  assert.equal(await textIn("#status"), `right: ${apart}`);
  await open("#seed=8&points=8&left=nt-xent&right=fair-cclk.paper");
  await focusCanvas();
  for (let sample = 0; sample < 8; sample++) {
    for (const key of ["ArrowRight", "Enter"]) await page.keyboard.press(key);
  }
  await settled();
  assert.equal(
    await textIn("#status"),
    "right: all samples have one colour, so colour has no effect; paint some in another one.",
  );
}
