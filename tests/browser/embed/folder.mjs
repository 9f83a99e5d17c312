// Embeds a folder of images, searches it, and takes its vectors along.
// A job: { site, data, device, checkpoint, images, folder, screenshots }; `data` is the folder of `images` and of
// `checkpoint`, `folder` takes the pictures and the downloads.
import assert from "node:assert/strict";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { audit } from "../audit.mjs";
import { drop } from "../drop.mjs";
import { isWide, overflows } from "../narrow.mjs";
import { rests } from "../still.mjs";
import { embeddingIn } from "./page.mjs";

export const absent = "/none.safetensors";

/** The message of the page about a file that holds no image. */
const BROKEN = "pictures/broken.png was left out: no image could be read, or one of more than 67 million pixels.";

export default async function (job, page, serve) {
  const visit = await embeddingIn(page, job, serve);
  const pictures = await folderOf(job);
  await visit.open();
  await visit.isThere();
  await takesAFolder(visit, page, pictures);
  await takesAnAddress(visit, page, job);
  await leadsFromImageToImage(visit, page, job);
  await searchesWithAnother(visit, page, job, pictures);
  await leavesATextToItsField(page);
  for (const id of ["save-npy", "save-csv"]) await save(page, id, job);
  await fits(visit, page);
}

/** A folder with the images of a job and two files that are none. */
async function folderOf({ data, folder, images }) {
  const pictures = join(folder, "pictures");
  await mkdir(pictures);
  for (const name of images) await copyFile(join(data, name), join(pictures, name));
  await writeFile(join(pictures, "broken.png"), "not a picture");
  await writeFile(join(pictures, "notes.txt"), "not a picture either");
  return pictures;
}

/** A folder that is dropped is one that is chosen. */
async function takesAFolder({ embedDrawn, says, textOf }, page, pictures) {
  await page.setInputFiles("#folder", pictures);
  await says(BROKEN);
  const status = await textOf("status");
  assert.ok(status.includes("embedded. pictures/notes.txt was left out: no image to this browser."), status);
  const leftOut = await page.locator("#left-out:not([hidden]) li").allTextContents();
  assert.deepEqual(leftOut, ["pictures/notes.txt", "pictures/broken.png"]);
  const chosen = await textOf("size");
  await embedDrawn();
  await drop(page, [pictures]);
  await says(BROKEN);
  assert.equal(await textOf("size"), chosen);
}

/** Another encoder by its address: the first one is of no file. */
async function takesAnAddress({ address, says, textOf }, page, { checkpoint, images }) {
  await page.fill("#address", `${address}/data${absent}`);
  await page.locator("#address").press("Enter");
  await says("404");
  await page.fill("#address", `${address}/data/${checkpoint}`);
  await page.locator("#address").press("Enter");
  await says(`${images.length} images were embedded`);
  assert.match(await textOf("encoder"), /^model: lenet5/);
  assert.match(await textOf("device"), /^CPU/);
}

/** The map answers to the keyboard and to the pointer. */
async function leadsFromImageToImage({ textOf }, page, { images }) {
  const map = page.locator("#map");
  await map.scrollIntoViewIfNeeded();
  await map.focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await textOf("pointed"), `pictures/${images[1]}`);
  const asked = await textOf("asked");
  assert.equal(asked, `to pictures/${images[1]}`);
  await page.locator("#nearest button").first().click();
  assert.notEqual(await textOf("asked"), asked);
  // A neighbour that was pressed keeps the focus.
  assert.equal(await page.locator("#nearest li:first-child button:focus").count(), 1);
  const box = await map.boundingBox();
  const named = new Set();
  for (let at = 0; at < 100; at++) {
    const [across, down] = [((at % 10) + 0.5) / 10, (Math.floor(at / 10) + 0.5) / 10];
    await page.mouse.move(box.x + box.width * across, box.y + box.height * down);
    named.add(await textOf("pointed"));
  }
  assert.ok(named.size > 5, `${named.size} names were shown`);
  await page.mouse.move(0, 0);
}

/** A search with an image that is not of the folder; after it, the arrow that goes back leads to the last image. */
async function searchesWithAnother({ saysError, textOf }, page, { images }, pictures) {
  await page.setInputFiles("#query", join(pictures, "broken.png"));
  await saysError("broken.png cannot be decoded");
  await page.setInputFiles("#query", join(pictures, images[5]));
  await page.locator("#asked", { hasText: images[5] }).waitFor();
  await page.locator("#status:empty").waitFor({ state: "attached" });
  assert.equal(await page.locator("#nearest .value").first().textContent(), "1.00");
  assert.equal(await page.locator("#nearest button").first().getAttribute("title"), `pictures/${images[5]}`);
  // It has no name on the map.
  assert.match(await textOf("pointed"), /^Point at an image/);
  await page.locator("#map").focus();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await textOf("asked"), `to pictures/${images.at(-1)}`);
}

/** A text that is dropped into a field is no file. */
async function leavesATextToItsField(page) {
  const text = "https://example.org/a.safetensors";
  const field = await page.locator("#address").boundingBox();
  const session = await page.context().newCDPSession(page);
  const data = { items: [{ mimeType: "text/plain", data: text }], dragOperationsMask: 1 };
  await page.fill("#address", "");
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    const [x, y] = [field.x + field.width / 2, field.y + field.height / 2];
    await session.send("Input.dispatchDragEvent", { type, x, y, data });
  }
  await session.detach();
  assert.equal(await page.inputValue("#address"), text);
}

async function save(page, id, { folder }) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`#${id}`).click()]);
  await download.saveAs(join(folder, download.suggestedFilename()));
}

/** The page fits a phone and larger text, in light and in dark. */
async function fits({ shot }, page) {
  await page.emulateMedia({ colorScheme: "dark" });
  await rests(page);
  await shot("dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await rests(page);
  await shot("phone");
  assert.equal(await isWide(page), false);
  assert.deepEqual(await overflows(page), []);
  assert.deepEqual(await audit(page, "embed on a phone"), []);
}
