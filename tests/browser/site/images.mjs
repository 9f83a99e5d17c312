// Draws a digit on the CPU, and gives the page images, backgrounds and a checkpoint, with and without a pointer.
// A job: { site, webgpu, device, checkpoint, name, image, screenshots }; `checkpoint` and `image` are paths, `name` is what the
// visitor calls the checkpoint.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { audit } from "../audit.mjs";
import { photographs } from "../exif.mjs";
import { isWide, overflows } from "../narrow.mjs";
import { siteIn, tellsTheEncodersApart } from "./page.mjs";

export default async function (job, page, serve) {
  const visit = await siteIn(page, job, serve);
  await visit.open();
  await visit.shot("light");
  await tellsTheEncodersApart(visit);
  const drawn = await visit.draw();
  await drawsWithOneButton(page);
  const onBackground = await takesABackground(visit, page, drawn);
  await page.emulateMedia({ colorScheme: "dark" });
  await takesImages(visit, page, job, onBackground);
  await keepsTheFocusOnANeighbour(visit);
  await needsNoPointer(visit, page);
  await visit.showOnMap("SimCLR (NT-Xent)");
  await visit.shot("dark");
  await tellsWithForcedColours(page);
  await fits(visit, page);
  await refusesFiles(page);
  await takesACheckpoint(visit, page, job);
  await loadsNoneThatWasReplaced(visit, page, job);
  await loadsOnTheDeviceChosenMeanwhile(visit, page, job);
  await replacesEncodersThatAreAsked(visit, page);
  visit.fetches("cpu");
}

async function drawsWithOneButton(page) {
  const pixels = () => page.locator("#pad").evaluate((pad) => pad.toDataURL());
  const before = await pixels();
  const pad = await page.locator("#pad").boundingBox();
  await page.mouse.move(pad.x + pad.width * 0.2, pad.y + pad.height * 0.2);
  await page.mouse.down({ button: "right" });
  await page.mouse.move(pad.x + pad.width * 0.8, pad.y + pad.height * 0.2, { steps: 4 });
  await page.mouse.up({ button: "right" });
  assert.equal(await pixels(), before);
}

/** By keyboard; a background shows that it has the focus. Gives the answer on it. */
async function takesABackground({ answerAfter, fair }, page, drawn) {
  await page.locator("#backgrounds input").first().focus();
  await page.keyboard.press("ArrowRight");
  const answer = await answerAfter(fair, drawn);
  const chosen = page.locator("#backgrounds input:checked");
  const ring = () => chosen.evaluate((input) => getComputedStyle(input).outline);
  const focused = await ring();
  await chosen.blur();
  assert.notEqual(await ring(), focused);
  return answer;
}

/** A photograph is shown as it is embedded: as stored, whatever its orientation, and its middle square. */
async function takesImages({ answerAfter, fair }, page, { image }, before) {
  await page.setInputFiles("#image", image);
  const onImage = await answerAfter(fair, before);
  const { jpeg } = await page.evaluate(photographs);
  const buffer = Buffer.from(jpeg.noted);
  await page.setInputFiles("#image", { name: "turned.jpg", mimeType: "image/jpeg", buffer });
  await answerAfter(fair, onImage);
  const [red, green] = await page.evaluate(() => {
    const { data } = document.querySelector("#pad").getContext("2d").getImageData(4, 50, 1, 1);
    return [...data];
  });
  assert.ok(red > 150 && green < 100, `${red}, ${green}`);
}

async function keepsTheFocusOnANeighbour({ fair }) {
  await fair.locator("li button").nth(1).press("Enter");
  await fair.locator(".value").first().filter({ hasText: "1.00" }).waitFor();
  assert.equal(await fair.locator("li:nth-child(2) button:focus").count(), 1);
}

/** The example is a digit whose background can be changed, and the map leads from digit to digit. */
async function needsNoPointer({ textOf }, page) {
  const note = page.locator("#own-background");
  assert.equal(await note.isVisible(), true);
  await page.locator("#example").press("Enter");
  assert.equal(await note.isHidden(), true);
  assert.equal(await page.locator("#backgrounds input").first().isEnabled(), true);
  await page.locator("#map").focus();
  await page.keyboard.press("ArrowLeft");
  assert.match(await textOf("pointed"), / on /);
}

/** With the colours of the system it is still told what is chosen, and which background is which. */
async function tellsWithForcedColours(page) {
  await page.emulateMedia({ forcedColors: "active" });
  const shown = await page.evaluate(() => {
    const backgroundOf = (element) => getComputedStyle(element).backgroundColor;
    const plain = document.body.appendChild(document.createElement("div"));
    plain.style.background = "Canvas";
    const isChosen = backgroundOf(document.querySelector("#switch label:has(:checked)")) !== backgroundOf(plain);
    plain.remove();
    const backgrounds = [...document.querySelectorAll("#backgrounds input")].map(backgroundOf);
    return { isChosen, backgrounds: new Set(backgrounds).size };
  });
  assert.deepEqual(shown, { isChosen: true, backgrounds: 10 });
  await page.emulateMedia({ forcedColors: "none" });
}

/** The page fits a phone, and where the visitor has the browser write larger, the page does and still fits. */
async function fits({ shot }, page) {
  assert.deepEqual(await audit(page, "site"), []);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  assert.equal(await isWide(page), false);
  assert.deepEqual(await overflows(page), []);
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setFontSizes", { fontSizes: { standard: 24 } });
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize), "24px");
  assert.equal(await isWide(page), false);
  await session.send("Page.setFontSizes", { fontSizes: { standard: 16 } });
  await session.detach();
}

/** Why a file was not taken is said until something else is shown; one that is no checkpoint leaves the encoders. */
async function refusesFiles(page) {
  const says = (text) => page.locator("#status[data-kind=error]", { hasText: text }).waitFor();
  await page.setInputFiles("#image", { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("no picture") });
  await says("note.txt is neither");
  await page.setInputFiles("#image", { name: "model.pth", mimeType: "", buffer: Buffer.alloc(64) });
  await says("simile import model.pth");
  await page.locator("#another").click();
  await page.locator("#status:empty").waitFor({ state: "attached" });
  await page.setInputFiles("#checkpoint", { name: "wrong.safetensors", mimeType: "", buffer: Buffer.alloc(64) });
  await says("safetensors");
}

/** The encoder of a checkpoint joins the others, also where a system writes its name in capitals. */
async function takesACheckpoint({ answers, panel, textOf }, page, { checkpoint, name }) {
  const buffer = await readFile(checkpoint);
  await page.setInputFiles("#checkpoint", { name: `${name}.SAFETENSORS`, mimeType: "", buffer });
  await answers(panel(name));
  await page.locator("#status:empty").waitFor({ state: "attached" });
  const titles = await page.locator(".panel h3").allTextContents();
  assert.deepEqual(titles, [name, "Fair-CCLK", "SimCLR (NT-Xent)"]);
  // The buttons have the order of the panels.
  assert.deepEqual(await page.locator("#switch label").allTextContents(), titles);
  assert.equal(await isWide(page), false);
  assert.deepEqual(await audit(page, "site on a phone"), []);
  const encoder = await textOf("encoder");
  assert.ok(encoder.startsWith(`${name}: lenet5`), encoder);
  assert.match(await textOf("device"), /^CPU/);
}

/** Another checkpoint takes the place of the first one, which is not loaded again though a device was chosen before that. */
async function loadsNoneThatWasReplaced({ answers, panel }, page, { checkpoint }) {
  await countWorkers(page);
  await page.evaluate(() => {
    // The device is chosen as soon as the file is.
    const [file, choice] = ["checkpoint", "choice"].map((id) => document.getElementById(id));
    file.addEventListener("change", () => choice.dispatchEvent(new Event("change")), { once: true });
  });
  const buffer = await readFile(checkpoint);
  await page.setInputFiles("#checkpoint", { name: "another.safetensors", mimeType: "", buffer });
  await answers(panel("another"));
  // The encoders of the first checkpoint and of both shipped ones end, after those in the place of the shipped ones are loaded.
  await page.waitForFunction(() => window.workers.ended === 3);
  // Loads are done in turn: once these three are, one that was not wanted has begun too.
  await page.evaluate(() => document.getElementById("choice").dispatchEvent(new Event("change")));
  await page.waitForFunction(() => window.workers.ended === 6);
  assert.equal(await page.evaluate(() => window.workers.begun), 6, "an encoder without a place is loaded");
  await page.evaluate(() => window.workers.release());
}

/** A device that is chosen while a checkpoint loads is for this one too, which has no place on the page by then. */
async function loadsOnTheDeviceChosenMeanwhile({ answers, panel }, page, { checkpoint }) {
  await countWorkers(page);
  assert.equal(await page.inputValue("#choice"), "auto");
  await page.evaluate(() => {
    window.workers.onBegin = () => {
      const choice = document.getElementById("choice");
      choice.value = "cpu";
      choice.dispatchEvent(new Event("change"));
    };
  });
  const buffer = await readFile(checkpoint);
  await page.setInputFiles("#checkpoint", { name: "third.safetensors", mimeType: "", buffer });
  await answers(panel("third"));
  // Replaced are the encoders of the former checkpoint, of both shipped ones, and the first one of this checkpoint.
  await page.waitForFunction(() => window.workers.ended === 4, undefined, { timeout: 60_000 });
  assert.equal(await page.evaluate(() => window.workers.begun), 4);
  await page.evaluate(() => window.workers.release());
}

/** Counts the workers that begin and end in `window.workers`, until its `release` is called; the first one calls `onBegin`. */
async function countWorkers(page) {
  await page.evaluate(() => {
    const { Worker } = window;
    const { terminate } = Worker.prototype;
    window.workers = { begun: 0, ended: 0 };
    window.Worker = class extends Worker {
      constructor(...input) {
        super(...input);
        if (window.workers.begun++ === 0) window.workers.onBegin?.();
      }
    };
    Worker.prototype.terminate = function () {
      window.workers.ended++;
      terminate.call(this);
    };
    window.workers.release = () => {
      window.Worker = Worker;
      Worker.prototype.terminate = terminate;
    };
  });
}

/** An encoder may be asked at the moment when another takes its place: then that one is, and nothing has failed. */
async function replacesEncodersThatAreAsked({ textOf }, page) {
  const count = await page.locator(".panel").count();
  await page.evaluate(() => {
    window.replaced = 0;
    const { terminate } = Worker.prototype;
    Worker.prototype.terminate = function () {
      window.replaced++;
      document.querySelector("#another").click();
      terminate.call(this);
    };
  });
  await page.selectOption("#choice", "cpu");
  await page.waitForFunction((count) => window.replaced === count, count);
  // Every question before is answered when the panels have none.
  await page.locator("#clear").click();
  await page.waitForFunction(() => document.querySelectorAll(".panel li").length === 0);
  assert.equal(await textOf("status"), "");
}
