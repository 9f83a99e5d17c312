// Embeds images and checkpoints as a visitor gives them.
// A job: { site, data, device, checkpoint, images, folder, screenshots }; `data` is the folder of `images` and of
// `checkpoint`, `folder` takes files that no page can use.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { audit } from "../audit.mjs";
import { drop } from "../drop.mjs";
import { photographs } from "../exif.mjs";
import { holdEngine } from "../hold-engine.mjs";
import { embeddingIn } from "./page.mjs";

export default async function (job, page, serve) {
  const visit = await embeddingIn(page, job, serve);
  await waitsForTheEngine(visit, page);
  await visit.embedDrawn();
  await visit.shot("light");
  assert.deepEqual(await audit(page, "embed"), []);
  await showsAPhotographAsStored(visit, page);
  await decodesFewAtATime(visit, page);
  await showsOneImageAlone(visit, page, job);
  await keepsNewerImages(visit, page, job);
  await takesACheckpointWithImages(visit, page, job);
  await keepsItsEncoder(visit, page, job);
  await namesTheCommandForPyTorch(visit, page, job);
}

/** Once the checkpoint has come, the engine is what the page says that it waits for. */
async function waitsForTheEngine({ isThere, open, says }, page) {
  const release = await holdEngine(page);
  await open();
  await says("Starting the engine");
  await release();
  await isThere();
}

/** As it is embedded, whatever its orientation. */
async function showsAPhotographAsStored({ says }, page) {
  const { jpeg } = await page.evaluate(photographs);
  const photograph = { mimeType: "image/jpeg", buffer: Buffer.from(jpeg.noted) };
  await page.setInputFiles("#images", ["one.jpg", "two.jpg"].map((name) => ({ name, ...photograph })));
  await says("2 images were embedded");
  const size = await page.locator("#nearest canvas").evaluate(({ width, height }) => [width, height]);
  assert.deepEqual(size, [48, 32]);
}

/** Large photographs are decoded two at a time, for the map as for the encoder. */
async function decodesFewAtATime({ says }, page) {
  const large = { mimeType: "image/png", buffer: Buffer.from(await page.evaluate(countDecoded)) };
  await page.setInputFiles("#images", ["a.png", "b.png", "c.png", "d.png"].map((name) => ({ name, ...large })));
  await says("4 images were embedded");
  const decoded = await page.evaluate(() => window.decoded);
  assert.ok(decoded >= 1 && decoded <= 2, `${decoded} pictures of 30 million pixels are decoded at once`);
}

/** One image alone lies in the middle of the map, and is like no other. */
async function showsOneImageAlone({ says, textOf }, page, { data, images }) {
  await page.setInputFiles("#images", join(data, images[0]));
  await says("1 image was embedded");
  assert.equal(await textOf("size"), "1 vector of 84 numbers.");
  assert.equal(await textOf("asked"), `to ${images[0]}: there is no other image`);
  const opacity = await page.locator("#map").evaluate((map) => {
    const [across, down] = [map.width / 2, map.height / 2];
    return map.getContext("2d").getImageData(across, down, 1, 1).data[3];
  });
  assert.ok(opacity > 0);
}

/** Digits that were asked for before other images do not replace them when they come. */
async function keepsNewerImages({ says, textOf }, page, { data, images }) {
  await page.evaluate(() => {
    const { postMessage, terminate } = Worker.prototype;
    Worker.prototype.postMessage = function (call, ...more) {
      const send = () => postMessage.call(this, call, ...more);
      if (call.method === "drawDigits") window.drawHeld = send;
      else send();
    };
    // The worker that draws is the only one that ends.
    Worker.prototype.terminate = function () {
      terminate.call(this);
      Object.assign(Worker.prototype, { postMessage, terminate });
      window.isDrawn = true;
    };
  });
  await page.locator("#drawn").click();
  await says("Drawing digits");
  await page.setInputFiles("#images", images.slice(0, 2).map((name) => join(data, name)));
  await says("2 images were embedded");
  await page.evaluate(() => window.drawHeld());
  await page.waitForFunction(() => window.isDrawn);
  assert.match(await textOf("status"), /^2 images were embedded/);
}

/** A checkpoint and images in one drop: it embeds them. A shipped encoder can be chosen again, and takes them over. */
async function takesACheckpointWithImages({ says, textOf }, page, { checkpoint, data, images }) {
  await drop(page, [checkpoint, ...images.slice(0, 3)].map((name) => join(data, name)));
  await says("3 images were embedded");
  assert.match(await textOf("encoder"), /^model: lenet5/);
  assert.match(await textOf("size"), /^3 vectors/);
  assert.equal(await page.inputValue("#shipped"), "");
  await page.selectOption("#shipped", { index: 0 });
  await page.locator("#encoder", { hasText: "Fair-CCLK" }).waitFor();
  await says("3 images were embedded");
}

/** A checkpoint that cannot be loaded, dropped with images: the encoder that is there embeds them, and the error stays. */
async function keepsItsEncoder({ saysError, textOf }, page, { data, folder, images }) {
  const wrong = join(folder, "wrong.safetensors");
  await writeFile(wrong, Buffer.alloc(64));
  await drop(page, [wrong, ...images.slice(0, 2).map((name) => join(data, name))]);
  await saysError("2 images were embedded");
  assert.match(await textOf("encoder"), /^Fair-CCLK/);
  assert.match(await textOf("size"), /^2 vectors/);
  assert.match(await textOf("status"), /checkpoint/);
}

/** The command that makes a checkpoint of a file of PyTorch. */
async function namesTheCommandForPyTorch({ saysError }, page, { folder }) {
  const ofTorch = join(folder, "model.pth");
  await writeFile(ofTorch, Buffer.alloc(64));
  await drop(page, [ofTorch]);
  await saysError("simile import model.pth");
}

/**
 * Notes the most files that are decoded at the same time in `window.decoded`, and gives a file of 30 million pixels. Runs in
 * the page.
 */
async function countDecoded() {
  const photograph = new OffscreenCanvas(6000, 5000);
  photograph.getContext("2d").fillRect(0, 0, 6000, 5000);
  const file = await photograph.convertToBlob();

  const [decode, bitmaps] = [window.createImageBitmap, []];
  let begun = 0;
  window.decoded = 0;
  window.createImageBitmap = async (source, ...options) => {
    if (!(source instanceof Blob)) return decode(source, ...options);
    begun++;
    // Those that were closed, or sent to the worker, have no width any more.
    const open = bitmaps.filter(({ width }) => width > 0);
    window.decoded = Math.max(window.decoded, begun + open.length);
    const bitmap = await decode(source, ...options).finally(() => begun--);
    bitmaps.push(bitmap);
    return bitmap;
  };
  return [...new Uint8Array(await file.arrayBuffer())];
}
