// Trains two networks to the end as a visitor would, and looks at the page meanwhile.
// A job: { site, device, settings, level, lead, patience, own, folder, screenshots }; `own` is a folder with a folder of images
// for each class. The right network has to reach `level` in percent, and `lead` more than the left one, within `patience` seconds.
// Gives the `rate`, the accuracies at which that `passed`, and the `final` figures.
import assert from "node:assert/strict";
import { audit } from "../audit.mjs";
import { drop } from "../drop.mjs";
import { countFrames } from "../frames.mjs";
import { isWide, overflows } from "../narrow.mjs";
import { rests } from "../still.mjs";
import { workersLeft } from "../workers.mjs";
import { trainingIn } from "./page.mjs";

export default async function (job, page, serve) {
  const visit = await trainingIn(page, job, serve);
  await refusesSettings(visit, page, job);
  const frames = await countFrames(page);
  await pointsAtAnEmptyField(page);
  const passed = await leads(visit, page, job);
  await standsStillInAPause(visit, page);
  await visit.run("running");
  await visit.enters("finished");
  // The map does not move for a visitor who wants no motion.
  assert.equal((await frames()).asked, 0);
  const rate = await visit.textOf("rate");
  const final = await hasLearnt(visit, page, job);
  await keepsNetworksUntilOneIsSaved(visit);
  await fits(visit, page);
  await keepsTheRunUntilAReset(visit, page, job);
  await isInTheAddress(page, job);
  return { rate, passed, final };
}

/** An address that no run can have leaves the usual settings, and the page stays usable. */
async function refusesSettings({ address, errorWith }, page, { device }) {
  await page.goto(`${address}?device=${device}&iterations=many`);
  assert.equal(await page.inputValue("#iterations"), "400");
  assert.match(await errorWith(), /iterations=many, which is out of range/);
  assert.deepEqual(await audit(page, "train, before"), []);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
}

async function pointsAtAnEmptyField(page) {
  await page.fill("#lambda", "");
  await page.locator("#run").click();
  assert.equal(await page.locator("#lambda:invalid").count(), 1);
  // Many languages write a comma.
  await page.fill("#lambda", "0,01");
}

/** Trains until the right network leads; gives the accuracies and the steps of both. */
async function leads({ both, enters, textOf }, page, { lead, level, patience, settings }) {
  for (const [id, value] of Object.entries(settings)) await page.fill(`#${id}`, `${value}`);
  await page.locator("#run").press("Enter");
  await enters("running");
  assert.match(await textOf("status"), /^CPU/);
  const deadline = Date.now() + patience * 1000;
  for (;;) {
    const [digit, step] = [await both("Digit"), await both("Step")];
    const [unconditional, fair] = digit;
    if (fair >= level && fair >= unconditional + lead) return { digit, step };
    const isOver = Date.now() > deadline || (await page.locator("body:is([data-run=finished], [data-run=failed])").count()) > 0;
    assert.ok(!isOver, `no lead in time: ${digit} % at ${step}`);
    await page.waitForTimeout(200);
  }
}

/** Paused, it stands still, and each network can be taken as it is. */
async function standsStillInAPause({ asks, both, saved, shot }, page) {
  await page.locator("#run").press("Enter");
  await page.locator("body:is([data-run=paused], [data-run=finished])").waitFor();
  assert.equal(await page.locator("body[data-run=paused]").count(), 1, "the run was over before it could be paused");
  // The button keeps the focus of a keyboard.
  assert.equal(await page.locator("#run:focus").count(), 1);
  const steps = await both("Step");
  await shot("paused");
  // A network is saved after the steps that were asked of it.
  await saved("left", "paused.safetensors");
  await saved("right", "early.safetensors");
  assert.deepEqual(await both("Step"), steps);
  // They are not the networks that the run will end with.
  assert.equal(await asks(), true);
}

/** The right network knows the digits and not the colours, as far as the left one knows them. */
async function hasLearnt({ both }, page, { lead, level, settings }) {
  const final = { digit: await both("Digit"), colour: await both("Colour R²"), step: await both("Step") };
  const figures = JSON.stringify(final);
  const [unconditional, fair] = final.digit;
  assert.ok(fair >= level && fair >= unconditional + lead, figures);
  const [colour, left] = final.colour;
  assert.ok(left < colour - 0.1, figures);
  assert.deepEqual(final.step, [settings.iterations, settings.iterations]);
  const map = await page.locator("[data-side=right] canvas").getAttribute("aria-label");
  assert.ok(map.includes(`${fair.toFixed(1)} %`), map);
  return final;
}

async function keepsNetworksUntilOneIsSaved({ asks, saved }) {
  assert.equal(await asks(), true);
  assert.equal(await saved("left", "left.safetensors"), "simclr.safetensors");
  assert.equal(await asks(), false);
  assert.equal(await saved("right", "right.safetensors"), "fair-cclk.safetensors");
}

/** The page fits a phone and larger text, in light and in dark. */
async function fits({ shot }, page) {
  await rests(page);
  await shot("light");
  assert.deepEqual(await audit(page, "train"), []);
  await shot("dark");
  const desktop = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await rests(page);
  await shot("phone-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await rests(page);
  await shot("phone");
  assert.equal(await isWide(page), false);
  assert.deepEqual(await overflows(page), []);
  assert.deepEqual(await audit(page, "train on a phone"), []);
  await page.setViewportSize(desktop);
}

/** Other images are not taken while there is a run; a reset frees both networks. */
async function keepsTheRunUntilAReset({ errorWith, figure, reset }, page, { own }) {
  await drop(page, [own]);
  assert.match(await errorWith(), /press Reset/);
  await reset();
  assert.equal(await figure("right", "Digit").textContent(), "–");
  assert.equal(await workersLeft(page), 0);
}

/** A run can be shared. */
async function isInTheAddress(page, { settings, device }) {
  const { iterations, batch, seed } = settings;
  const expected = `?iterations=${iterations}&batch=${batch}&temperature=0.5&lambda=0.01&seed=${seed}&device=${device}`;
  assert.equal(new URL(page.url()).search, expected);
  await page.goto(page.url());
  assert.equal(await page.inputValue("#iterations"), `${iterations}`);
}
