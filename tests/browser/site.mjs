// Uses the site as a visitor would: node site.mjs JOB.json; screenshots go to `screenshots`.
// A job: { site, data, webgpu, device, checkpoint, image, screenshots }; the last three are paths.
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
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
  await page.goto(`${server.address}/site/?device=${job.device}&checkpoint=/data/${basename(job.checkpoint)}`);
  await page.locator("#map-note:not(:empty)").waitFor();
  const shot = (name) => page.screenshot({ path: join(job.screenshots, `${job.device}-${name}.png`), fullPage: true });

  // Draw a one.
  const pad = await page.locator("#pad").boundingBox();
  await page.mouse.move(pad.x + pad.width * 0.5, pad.y + pad.height * 0.2);
  await page.mouse.down();
  await page.mouse.move(pad.x + pad.width * 0.5, pad.y + pad.height * 0.8, { steps: 8 });
  await page.mouse.up();
  await page.locator("#neighbours li").nth(7).waitFor();
  const answer = () => page.locator("#neighbours .value").allTextContents();
  const answerAfter = async (old) => {
    await page.waitForFunction(
      (old) => [...document.querySelectorAll("#neighbours .value")].map((v) => v.textContent).join() !== old,
      old.join(),
    );
    return answer();
  };
  const drawn = await answer();
  await shot("light");

  // Another ground, by keyboard; then an image from a file; then a neighbour of it.
  await page.locator("#grounds input").first().focus();
  await page.keyboard.press("ArrowRight");
  const onAnotherGround = await answerAfter(drawn);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setInputFiles("#image", job.image);
  const opened = await answerAfter(onAnotherGround);
  await page.locator("#neighbours button").nth(1).press("Enter");
  await page.waitForFunction(() => document.querySelector("#neighbours .value")?.textContent === "1.00");
  await shot("dark");

  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

  // What is no checkpoint is refused, and the encoder stays.
  await page.setInputFiles("#checkpoint", { name: "wrong.safetensors", mimeType: "", buffer: Buffer.alloc(64) });
  const refusal = await page.locator("#status[data-kind=error]").textContent();
  await page.setInputFiles("#checkpoint", job.checkpoint);
  await page.locator("#status:empty").waitFor({ state: "attached" });

  // As a CDP evaluation the checker is not subject to the page's policy.
  await page.evaluate(await readFile(new URL("./node_modules/axe-core/axe.min.js", import.meta.url), "utf8"));
  const violations = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(() => axe.run());
    violations.push(...found.violations.map(({ id, nodes }) => `${colorScheme}: ${id} ${nodes.map((n) => n.html)}`));
  }

  const texts = await page.evaluate(() =>
    Object.fromEntries(["encoder", "device", "verdict"].map((id) => [id, document.getElementById(id).textContent])),
  );
  console.log(JSON.stringify({ texts, drawn, opened, refusal, overflow, violations, complaints }));
} finally {
  await browser.close();
  server.close();
}
