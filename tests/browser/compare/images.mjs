// Trains two networks on a visitor's images.
// A job: { site, device, own, plain, folder, screenshots }; `own` is a folder with a folder of images for each of ten classes,
// `plain` has such folders of plain colours by name, `folder` takes the downloads.
import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drop } from "../drop.mjs";
import { countFrames } from "../frames.mjs";
import { workersLeft } from "../workers.mjs";
import { failNext, KEPT, trainingIn } from "./page.mjs";

/** Messages of the page about a run on plain colours: its steps, and the reason why its numbers mean nothing. */
const FEW = "A step takes all 9 images.";
const ONE = "Fair-CCLK: the images of this run hardly differ in mean colour, so there is no colour to set aside.";
const APART =
  "Fair-CCLK: almost no two images of a step have a similar colour, so each has few to be compared with; " +
  "take a folder with more images.";

export default async function (job, page, serve) {
  const visit = await trainingIn(page, job, serve);
  await page.goto(`${visit.address}?device=${job.device}`);
  await refusesFoldersWithoutClasses(visit, page, job);
  await learnsFromAFolder(visit, page, job);
  await warnsAllAlong(visit, page, job);
  await warnsOfPlainColours(visit, page, job);
  await leavesFilesOut(visit, page, job);
  await goesBackToTheDigits(visit, page);
}

/** Neither images alone nor the parts of a data set are classes. */
async function refusesFoldersWithoutClasses({ errorWith }, page, { own, folder }) {
  await page.setInputFiles("#folder", join(own, "0"));
  assert.match(await errorWith(), /one for each class/);
  for (const part of ["train", "val"]) {
    for (const name of ["0", "1"]) await cp(join(own, name), join(folder, "parts", part, name), { recursive: true });
  }
  await page.setInputFiles("#folder", join(folder, "parts"));
  assert.ok((await errorWith()).includes("the parts of a data set (train, val)"));
}

async function learnsFromAFolder({ both, reset, run, saved, textOf }, page, { own }) {
  await drop(page, [own]);
  await page.locator("#source", { hasText: "classes" }).waitFor();
  const source = await textOf("source");
  assert.ok(source.includes("60 images of 10 classes"), source);
  assert.ok(source.includes("judged by the 12 others, too few for figures that mean much;"), source);
  // The map may move.
  const frames = await countFrames(page);
  await page.fill("#iterations", "20");
  await page.fill("#batch", "16");
  await run("finished");
  const { asked } = await frames();
  assert.ok(asked > 1, `${asked} frames`);
  assert.deepEqual(await both("Step"), [20, 20]);
  // Of 12 images, to a tenth of a percent.
  for (const percent of await both("Class")) {
    const right = (percent * 12) / 100;
    assert.ok(percent >= 0 && percent <= 100 && Math.abs(right - Math.round(right)) < 0.01, `${percent} %`);
  }
  // A number has a minus sign, not a hyphen.
  assert.doesNotMatch((await page.locator("dl.numbers").allTextContents()).join(), /-/);
  await saved("right", "own.safetensors");
  await reset();
}

/** Whatever else the page says of a run on plain colours, it warns of them, where that moves no button. */
async function warnsAllAlong({ enters, errorWith, reset, run }, page, { own, plain }) {
  const warns = async (begins, beside) => {
    const text = await errorWith(beside);
    assert.match(text, begins);
    assert.ok(text.endsWith(` ${FEW} ${ONE}`), text);
  };
  const top = () => page.locator("#run").evaluate((button) => button.offsetTop);
  // Longer than this test looks at it.
  await page.fill("#iterations", "5000");
  await page.setInputFiles("#folder", plain.grey);
  const before = await top();
  await run("running");
  await warns(/^CPU: /);
  assert.equal(await top(), before);
  await run("paused");
  await warns(/^Paused\. /);
  await drop(page, [own]);
  await warns(/^There is a run on other images; press Reset to learn from these\. This run: /, "press Reset");
  await page.evaluate(failNext, "writeCheckpoint");
  await page.locator("[data-side=right] button").click();
  await warns(/^the device broke\. /, "the device broke");
  await page.evaluate(failNext, "train");
  await page.locator("#run").click();
  await enters("failed");
  const failed = await errorWith("the device broke. The curves");
  assert.match(failed, / failed after step /);
  assert.ok(failed.endsWith(`: the device broke. ${KEPT} ${FEW} ${ONE}`), failed);
  await reset();
}

/** Plain colours leave nothing to set aside, or nothing to compare. */
async function warnsOfPlainColours({ errorWith, reset, run }, page, { plain }) {
  await page.fill("#iterations", "20");
  for (const [name, warning] of Object.entries({ grey: ONE, alike: ONE, apart: APART })) {
    await page.setInputFiles("#folder", plain[name]);
    await run("finished");
    assert.equal(await errorWith(), `Both networks have learnt. ${FEW} ${warning}`, name);
    await reset();
  }
}

/** A file that holds no image is named and left out. */
async function leavesFilesOut({ reset, run, textOf }, page, { own }) {
  await writeFile(join(own, "0", "broken.png"), "not a picture");
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(own, "1", name), "not a picture either");
  await page.fill("#iterations", "5000");
  await page.fill("#batch", "1024");
  await page.setInputFiles("#folder", own);
  await run("running");
  const status = await textOf("status");
  for (const text of [status, await textOf("source")]) {
    const broken = "own/0/broken.png was left out: no image could be read, or one of more than 67 million pixels.";
    assert.ok(text.includes(broken), text);
    assert.ok(text.includes("2 files, such as own/1/a.txt, were left out"), text);
  }
  const leftOut = await page.locator("#left-out:not([hidden]) li").allTextContents();
  assert.deepEqual(leftOut, ["own/0/broken.png", "own/1/a.txt", "own/1/b.txt"]);
  assert.ok(status.includes("A step takes all 48 images."), status);
  await reset();
}

/** A reset ends the preparation of a run too. */
async function goesBackToTheDigits({ reset, textOf }, page) {
  await page.locator("#drawn").click();
  assert.match(await textOf("source"), /digits that this page draws/);
  await page.locator("#run").click();
  await reset();
  assert.equal(await workersLeft(page), 0);
}
