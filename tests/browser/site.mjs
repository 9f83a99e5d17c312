// Uses the site as a visitor would: node site.mjs JOB.json; screenshots go to `screenshots`.
// A job: { site, data, webgpu, device, checkpoint, image, screenshots }; the last three are paths.
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { audit } from "./audit.mjs";
import { launch } from "./chromium.mjs";
import { serve } from "./serve.mjs";

const job = JSON.parse(await readFile(process.argv[2], "utf8"));
const server = await serve({ site: job.site, data: job.data });
const browser = await launch(job);
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  // An emulated GPU compiles its shaders for as long as half a minute on a busy machine.
  page.setDefaultTimeout(180_000);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("response", (response) => response.ok() || complaints.push(`${response.status()} ${response.url()}`));
  await page.goto(`${server.address}/site/?device=${job.device}`);
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

  // Another ground, by keyboard; then an image from a file; then a neighbour of it.
  await page.locator("#grounds input").first().focus();
  await page.keyboard.press("ArrowRight");
  const onAnotherGround = await answerAfter(fair, drawn);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setInputFiles("#image", job.image);
  await answerAfter(fair, onAnotherGround);
  await fair.locator("li button").nth(1).press("Enter");
  await fair.locator(".value").first().filter({ hasText: "1.00" }).waitFor();
  const focused = await fair.locator("li:nth-child(2) button:focus").count();

  // The map of the other encoder.
  await page.locator("#switch label", { hasText: "SimCLR (NT-Xent)" }).click();
  await page.locator("#encoder", { hasText: "SimCLR (NT-Xent)" }).waitFor();
  await shot("dark");

  const violations = await audit(page, "site");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

  // What is no checkpoint is refused, and the encoders stay; what is one is asked too.
  await page.setInputFiles("#checkpoint", { name: "wrong.safetensors", mimeType: "", buffer: Buffer.alloc(64) });
  const refusal = await page.locator("#status[data-kind=error]").textContent();
  await page.setInputFiles("#checkpoint", job.checkpoint);
  await panel(basename(job.checkpoint, ".safetensors")).locator("li").nth(7).waitFor();
  await page.locator("#status:empty").waitFor({ state: "attached" });
  const asked = await page.locator(".panel h3").allTextContents();

  violations.push(...(await audit(page, "site on a phone")));
  const textOf = (id) => page.locator(`#${id}`).textContent();
  const [encoder, device] = [await textOf("encoder"), await textOf("device")];

  console.log(JSON.stringify({ encoder, device, asked, focused, tallies, refusal, overflow, violations, complaints }));
} finally {
  await browser.close();
  server.close();
}
