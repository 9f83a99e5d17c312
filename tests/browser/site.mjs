// Uses the site as a visitor would; screenshots go to `screenshots`.
// A job: { site, data, webgpu, device, checkpoint, name, image, screenshots }; `checkpoint`, `image` and `screenshots` are
// paths, `name` is what the visitor calls the checkpoint.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { audit } from "./audit.mjs";
import { photographs } from "./exif.mjs";
import { OLDER } from "./serve.mjs";

export default async function (job, page, serve) {
  // Without WebGPU the browser is an older one in other respects too.
  const address = await serve({ site: job.site, data: job.data }, undefined, job.webgpu ? "" : OLDER);
  // An emulated GPU compiles its shaders for as long as half a minute on a busy machine.
  page.setDefaultTimeout(180_000);
  let bundles = 0;
  page.on("request", (request) => {
    if (request.url().endsWith(".wasm")) bundles++;
  });
  await page.goto(`${address}/site/?device=${job.device}`);
  const shot = (name) => page.screenshot({ path: join(job.screenshots, `${job.device}-${name}.png`), fullPage: true });
  const panel = (title) => page.locator(".panel", { has: page.locator("h3", { hasText: title }) });
  const [fair, unconditional] = [panel("Fair-CCLK"), panel("SimCLR (NT-Xent)")];
  const answerOf = async (panel) => (await panel.locator("li button").allTextContents()).join();
  const answerAfter = async (panel, old) => {
    const deadline = Date.now() + 180_000;
    while ((await answerOf(panel)) === old || (await panel.locator("li").count()) < 8) {
      if (Date.now() > deadline) throw new Error(`no other answer than ${old}`);
      await page.waitForTimeout(20);
    }
    return answerOf(panel);
  };
  const isOlder = await page.evaluate(() => !Symbol.dispose && !PointerEvent.prototype.getCoalescedEvents);
  await unconditional.locator("li").nth(7).waitFor();
  const shares = async (panel) =>
    (await panel.locator(".note").textContent()).match(/\d+(?= %)/g).slice(0, 2).map(Number);
  const tallies = { fair: await shares(fair), unconditional: await shares(unconditional) };
  await shot("light");

  // Draw a one.
  const example = await answerOf(fair);
  const pad = await page.locator("#pad").boundingBox();
  await page.mouse.move(pad.x + pad.width * 0.5, pad.y + pad.height * 0.2);
  await page.mouse.down();
  await page.mouse.move(pad.x + pad.width * 0.5, pad.y + pad.height * 0.8, { steps: 8 });
  await page.mouse.up();
  const drawn = await answerAfter(fair, example);
  // Another button of the mouse draws nothing.
  const pixels = () => page.locator("#pad").evaluate((pad) => pad.toDataURL());
  const before = await pixels();
  await page.mouse.move(pad.x + pad.width * 0.2, pad.y + pad.height * 0.2);
  await page.mouse.down({ button: "right" });
  await page.mouse.move(pad.x + pad.width * 0.8, pad.y + pad.height * 0.2, { steps: 4 });
  await page.mouse.up({ button: "right" });
  const isUntouched = (await pixels()) === before;

  // Another background, by keyboard; then an image from a file; then a neighbour of it.
  await page.locator("#backgrounds input").first().focus();
  await page.keyboard.press("ArrowRight");
  const onAnotherGround = await answerAfter(fair, drawn);
  const chosen = page.locator("#backgrounds input:checked");
  const ring = () => chosen.evaluate((input) => getComputedStyle(input).outline);
  const rings = [await ring()];
  await chosen.blur();
  rings.push(await ring());
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setInputFiles("#image", job.image);
  const onImage = await answerAfter(fair, onAnotherGround);

  // A photograph is shown as it is embedded: as stored, whatever its orientation, and its middle square.
  const { jpeg } = await page.evaluate(photographs);
  const buffer = Buffer.from(jpeg.noted);
  await page.setInputFiles("#image", { name: "turned.jpg", mimeType: "image/jpeg", buffer });
  await answerAfter(fair, onImage);
  const photograph = await page.evaluate(() => {
    const { data } = document.querySelector("#pad").getContext("2d").getImageData(4, 50, 1, 1);
    return [...data.subarray(0, 3)];
  });
  await fair.locator("li button").nth(1).press("Enter");
  await fair.locator(".value").first().filter({ hasText: "1.00" }).waitFor();
  const focused = await fair.locator("li:nth-child(2) button:focus").count();

  // The map of the other encoder.
  await page.locator("#switch label", { hasText: "SimCLR (NT-Xent)" }).click();
  await page.locator("#encoder", { hasText: "SimCLR (NT-Xent)" }).waitFor();
  await shot("dark");

  // With the colours of the system it is still told what is chosen, and which background is which.
  await page.emulateMedia({ forcedColors: "active" });
  const forced = await page.evaluate(() => {
    const backgroundOf = (element) => getComputedStyle(element).backgroundColor;
    const plain = document.body.appendChild(document.createElement("div"));
    plain.style.background = "Canvas";
    const isChosen = backgroundOf(document.querySelector("#switch label:has(:checked)")) !== backgroundOf(plain);
    plain.remove();
    const backgrounds = [...document.querySelectorAll("#backgrounds input")].map(backgroundOf);
    return { isChosen, backgrounds: new Set(backgrounds).size };
  });
  await page.emulateMedia({ forcedColors: "none" });

  const violations = await audit(page, "site");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  const isWide = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  const overflow = await isWide();

  // Where the visitor has the browser write larger, the page does, and still fits.
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setFontSizes", { fontSizes: { standard: 24 } });
  const large = {
    size: await page.evaluate(() => getComputedStyle(document.documentElement).fontSize),
    overflow: await isWide(),
  };
  await session.send("Page.setFontSizes", { fontSizes: { standard: 16 } });

  // Why a file was not taken is said until something else is shown.
  await page.setInputFiles("#image", { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("no picture") });
  await page.locator("#status[data-kind=error]", { hasText: "note.txt is neither" }).waitFor();
  await page.setInputFiles("#image", { name: "model.pth", mimeType: "", buffer: Buffer.alloc(64) });
  await page.locator("#status[data-kind=error]", { hasText: "simile import model.pth" }).waitFor();
  await page.locator("#another").click();
  await page.locator("#status:empty").waitFor({ state: "attached" });

  // A file that is no checkpoint is refused, and the encoders stay. The encoder of a checkpoint joins them, also where a
  // system writes its name in capitals.
  await page.setInputFiles("#checkpoint", { name: "wrong.safetensors", mimeType: "", buffer: Buffer.alloc(64) });
  const refusal = await page.locator("#status[data-kind=error]").textContent();
  const checkpoint = await readFile(job.checkpoint);
  await page.setInputFiles("#checkpoint", { name: `${job.name}.SAFETENSORS`, mimeType: "", buffer: checkpoint });
  await panel(job.name).locator("li").nth(7).waitFor();
  await page.locator("#status:empty").waitFor({ state: "attached" });
  const asked = await page.locator(".panel h3").allTextContents();
  const switches = await page.locator("#switch label").allTextContents();
  const overflowOfName = await isWide();

  violations.push(...(await audit(page, "site on a phone")));
  const textOf = (id) => page.locator(`#${id}`).textContent();
  const [encoder, device] = [await textOf("encoder"), await textOf("device")];

  // An encoder may be asked at the moment when another takes its place: then that one is, and nothing has failed.
  const replaced = job.webgpu ? { status: "" } : await replace();
  // Refusals are met in a page of their own, which fetches a bundle again.
  const fetched = bundles;
  const refused = job.webgpu ? undefined : await refuse();
  const pages = (await readdir(job.site)).filter((file) => file.endsWith(".html"));
  const texts = await Promise.all(pages.map((file) => readFile(join(job.site, file), "utf8")));
  const silent = pages.filter((_, at) => !texts[at].includes("<noscript>"));

  return {
    isOlder,
    isUntouched,
    bundles: fetched,
    encoder,
    device,
    asked,
    switches,
    focused,
    rings,
    photograph,
    forced,
    tallies,
    refusal,
    overflow,
    large,
    overflowOfName,
    replaced,
    refused,
    silent,
    violations,
  };

  /** WebGPU where there is none, and a browser without WebAssembly. */
  async function refuse() {
    const told = async () => {
      const [device, encoder, status] = await Promise.all(["device", "encoder", "status"].map(textOf));
      return { device, encoder, status };
    };
    await page.goto(`${address}/site/?device=webgpu`);
    await unconditional.locator("li").nth(7).waitFor();
    await page.locator("#status", { hasText: "The CPU computes" }).waitFor();
    const webgpu = { ...(await told()), choice: await page.inputValue("#choice") };
    await page.addInitScript(() => delete globalThis.WebAssembly);
    await page.goto(`${address}/site/`);
    await page.locator("#status", { hasText: "Fair-CCLK and SimCLR" }).waitFor();
    return { webgpu, wasm: await told() };
  }

  async function replace() {
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
    await page.waitForFunction((count) => window.replaced === count, asked.length);
    await page.waitForTimeout(500);
    return { status: await textOf("status"), device: await textOf("device") };
  }
}
