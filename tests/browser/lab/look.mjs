// How the loss lab looks: on a sphere, in the dark, on a phone, with forced colours, in a frame.
// A job: { site, screenshots }.
import assert from "node:assert/strict";
import { audit } from "../audit.mjs";
import { isWide, overflows } from "../narrow.mjs";
import { labIn } from "./page.mjs";

export default async function (job, page, serve) {
  const lab = await labIn(page, job, serve);
  await lab.open();
  await turnsASphere(lab, page);
  await fitsAPhone(lab, page);
  await hasColoursOfItsOwn(lab, page);
  await fitsAFrame(lab, page);
}

async function turnsASphere({ canvas, preset, settled, shot }, page) {
  await preset("On a sphere");
  await canvas.focus();
  await page.keyboard.press("d");
  assert.deepEqual(await audit(page, "lab"), []);
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("dark");
  await page.selectOption("#dims", "8");
  await settled();
}

async function fitsAPhone({ preset, shot }, page) {
  await page.setViewportSize({ width: 390, height: 844 });
  await preset("Set a colour aside");
  await shot("phone-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  assert.equal(await isWide(page), false);
  assert.deepEqual(await overflows(page), []);
  assert.deepEqual(await audit(page, "lab on a phone"), []);
}

/** A figure has its colours where the system forces its own on the page. */
async function hasColoursOfItsOwn({ saved }, page) {
  await page.emulateMedia({ forcedColors: "active" });
  const drawn = await saved("save-svg");
  const [, background] = drawn.match(/<rect [^>]* fill="([^"]*)"/);
  const [, sphere] = drawn.match(/<circle [^>]* fill="none" stroke="([^"]*)"/);
  assert.notEqual(background, sphere);
  await page.emulateMedia({ forcedColors: "none" });
}

/** In a frame there is no header, and the lab fits. */
async function fitsAFrame({ open, shot, written }, page) {
  const { hash } = new URL(await written());
  await open(`?embed=1${hash}`);
  assert.equal(await page.locator("body > header").isVisible(), false);
  assert.equal(await isWide(page), false);
  await shot("embedded");
}
