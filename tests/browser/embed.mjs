// Embeds a folder of images as a visitor would; screenshots go to `screenshots`.
// A job: { site, data, webgpu, device, checkpoint, images, folder, screenshots }; `data` is the folder of `images` and
// of `checkpoint`, `folder` takes the downloads.
import { mkdir, copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { audit } from "./audit.mjs";
import { drop } from "./drop.mjs";
import { photographs } from "./exif.mjs";

export const absent = "/none.safetensors";

export default async function (job, page, serve) {
  const address = await serve({ site: job.site, data: job.data });
  page.setDefaultTimeout(120_000);
  const shot = (name) => page.screenshot({ path: join(job.screenshots, `embed-${name}.png`), fullPage: true });
  const textOf = (id) => page.locator(`#${id}`).textContent();
  const says = (text) => page.locator("#status", { hasText: text }).waitFor();
  const saved = async (id) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator(`#${id}`).click()]);
    await download.saveAs(join(job.folder, download.suggestedFilename()));
  };
  const result = { violations: [] };

  await page.goto(`${address}/site/embed.html?device=${job.device}`);
  await page.locator("#encoder", { hasText: "lenet5" }).waitFor();
  await page.locator("#drawn").click();
  await says("200 images were embedded");
  await shot("light");
  result.violations.push(...(await audit(page, "embed")));

  // A photograph is shown as it is embedded: as stored, whatever its orientation.
  const { jpeg } = await page.evaluate(photographs);
  const photograph = { mimeType: "image/jpeg", buffer: Buffer.from(jpeg.noted) };
  await page.setInputFiles("#images", ["one.jpg", "two.jpg"].map((name) => ({ name, ...photograph })));
  await says("2 images were embedded");
  result.photograph = await page.locator("#nearest canvas").evaluate(({ width, height }) => [width, height]);

  // Large photographs are decoded two at a time, for the map as for the encoder.
  const large = { mimeType: "image/png", buffer: Buffer.from(await page.evaluate(countDecoded)) };
  await page.setInputFiles("#images", ["a.png", "b.png", "c.png", "d.png"].map((name) => ({ name, ...large })));
  await says("4 images were embedded");
  result.decoded = await page.evaluate(() => window.decoded);

  // One image alone lies in the middle of the map, and is like no other.
  await page.setInputFiles("#images", join(job.data, job.images[0]));
  await says("1 image was embedded");
  result.single = [await textOf("size"), await textOf("asked")];
  result.middle = await page.locator("#map").evaluate((map) => {
    const [across, down] = [map.width / 2, map.height / 2];
    return map.getContext("2d").getImageData(across, down, 1, 1).data[3];
  });

  // A checkpoint and images in one drop: it embeds them. A shipped encoder can be chosen again, and takes them over.
  await drop(page, [job.checkpoint, ...job.images.slice(0, 3)].map((name) => join(job.data, name)));
  await says("3 images were embedded");
  result.together = [await textOf("encoder"), await textOf("size"), await page.inputValue("#shipped")];
  await page.selectOption("#shipped", { index: 0 });
  await page.locator("#encoder", { hasText: "Fair-CCLK" }).waitFor();
  await says("3 images were embedded");

  // A checkpoint that cannot be loaded, dropped with images: the encoder that is there embeds them, and the error stays.
  const wrong = join(job.folder, "wrong.safetensors");
  await writeFile(wrong, Buffer.alloc(64));
  await drop(page, [wrong, ...job.images.slice(0, 2).map((name) => join(job.data, name))]);
  await page.locator("#status[data-kind=error]", { hasText: "2 images were embedded" }).waitFor();
  result.kept = [await textOf("encoder"), await textOf("size"), await textOf("status")];

  // A file of PyTorch is named, with the command that makes a checkpoint of it.
  const ofTorch = join(job.folder, "model.pth");
  await writeFile(ofTorch, Buffer.alloc(64));
  await drop(page, [ofTorch]);
  await page.locator("#status[data-kind=error]", { hasText: "simile import model.pth" }).waitFor();

  // A folder, one file of which is no image; then another encoder, by its address.
  const pictures = join(job.folder, "pictures");
  await mkdir(pictures);
  for (const name of job.images) await copyFile(join(job.data, name), join(pictures, name));
  await writeFile(join(pictures, "broken.png"), "not a picture");
  await writeFile(join(pictures, "notes.txt"), "not a picture either");
  await page.setInputFiles("#folder", pictures);
  await says("pictures/broken.png was left out: no image could be read, or one of more than 67 million pixels.");
  result.omissions = await textOf("status");
  result.chosen = await textOf("size");
  await page.locator("#drawn").click();
  await says("200 images were embedded");
  await drop(page, [pictures]);
  await says("pictures/broken.png was left out: no image could be read, or one of more than 67 million pixels.");
  result.dropped = await textOf("size");
  await page.fill("#address", `${address}/data/none.safetensors`);
  await page.locator("#address").press("Enter");
  await says("404");
  await page.fill("#address", `${address}/data/${job.checkpoint}`);
  await page.locator("#address").press("Enter");
  await says(`${job.images.length} images were embedded`);
  result.encoder = await textOf("encoder");
  result.device = await textOf("device");

  // A map that answers to the pointer and to the keyboard, and a search by example.
  const map = page.locator("#map");
  await map.scrollIntoViewIfNeeded();
  await map.focus();
  await page.keyboard.press("ArrowRight");
  result.second = [await textOf("pointed"), await textOf("asked")];
  await page.locator("#nearest button").first().click();
  result.neighbour = await textOf("asked");
  result.focused = await page.locator("#nearest li:first-child button:focus").count();
  const box = await map.boundingBox();
  const named = new Set();
  for (let at = 0; at < 100; at++) {
    const [across, down] = [((at % 10) + 0.5) / 10, (Math.floor(at / 10) + 0.5) / 10];
    await page.mouse.move(box.x + box.width * across, box.y + box.height * down);
    named.add(await textOf("pointed"));
  }
  result.pointed = named.size;
  await page.setInputFiles("#query", join(pictures, "broken.png"));
  await page.locator("#status[data-kind=error]", { hasText: "broken.png cannot be decoded" }).waitFor();
  await page.setInputFiles("#query", join(pictures, job.images[5]));
  await page.locator("#asked", { hasText: job.images[5] }).waitFor();
  await page.locator("#status:empty").waitFor({ state: "attached" });
  result.similarity = await page.locator("#nearest .value").first().textContent();
  result.itself = await page.locator("#nearest button").first().getAttribute("title");

  // After it, the arrow that goes back leads to the last image.
  await map.focus();
  await page.keyboard.press("ArrowLeft");
  result.last = await textOf("asked");

  // A text is dropped into a field, and is no file.
  const field = await page.locator("#address").boundingBox();
  const session = await page.context().newCDPSession(page);
  const data = { items: [{ mimeType: "text/plain", data: "https://example.org/a.safetensors" }], dragOperationsMask: 1 };
  await page.fill("#address", "");
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    const [x, y] = [field.x + field.width / 2, field.y + field.height / 2];
    await session.send("Input.dispatchDragEvent", { type, x, y, data });
  }
  await session.detach();
  result.address = await page.inputValue("#address");

  await saved("save-npy");
  await saved("save-csv");

  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(300);
  await shot("dark");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForTimeout(300);
  await shot("phone");
  result.overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  result.violations.push(...(await audit(page, "embed on a phone")));
  return result;
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
