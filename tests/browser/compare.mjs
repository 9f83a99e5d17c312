// Trains two networks in the page as a visitor would; screenshots go to `screenshots`.
// A job: { site, webgpu, device, settings, level, lead, patience, own, plain, folder, screenshots }; `own` is a folder with a
// folder of images for each class, `plain` has such folders of plain colours by name, `folder` takes the downloads.
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { audit } from "./audit.mjs";
import { drop } from "./drop.mjs";
import { countFrames } from "./frames.mjs";
import { workersLeft } from "./workers.mjs";

export default async function (job, page, serve) {
  const address = await serve({ site: job.site });
  page.setDefaultTimeout(600_000);
  const shot = (name) => page.screenshot({ path: join(job.screenshots, `train-${name}.png`), fullPage: true });
  const figure = (side, name) =>
    page.locator(`[data-side=${side}] dl.numbers div`, { has: page.locator("dt", { hasText: name }) }).locator("dd");
  const numberOf = async (side, name) => Number.parseFloat(await figure(side, name).textContent());
  const both = async (name) => [await numberOf("left", name), await numberOf("right", name)];
  const enters = (state) => page.locator(`body[data-run=${state}]`).waitFor();
  const saved = async (side, name) => {
    const button = page.locator(`[data-side=${side}] button`);
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const path = join(job.folder, name);
    await download.saveAs(path);
    return download.suggestedFilename();
  };
  const result = { violations: [], frames: {} };

  // Settings that cannot be trained with are refused, and the page stays usable.
  await page.goto(`${address}/site/train.html?device=${job.device}&iterations=many`);
  result.steps = await page.inputValue("#iterations");
  result.refused = await page.locator("#status[data-kind=error]").textContent();
  result.violations.push(...(await audit(page, "train, before")));
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const still = await countFrames(page);
  await page.fill("#lambda", "");
  await page.locator("#run").click();
  result.invalid = await page.locator("#lambda:invalid").count();
  // Many languages write a comma.
  await page.fill("#lambda", "0,01");

  for (const [id, value] of Object.entries(job.settings)) await page.fill(`#${id}`, `${value}`);
  await page.locator("#run").press("Enter");
  await enters("running");
  result.device = await page.locator("#status").textContent();
  const deadline = Date.now() + job.patience * 1000;
  const hasPassed = ([unconditional, fair]) => fair >= job.level && fair >= unconditional + job.lead;
  while (!hasPassed(await both("Digit"))) {
    if (Date.now() > deadline) throw new Error(`no lead in time: ${await both("Digit")} % at ${await both("Step")}`);
    if (await page.locator("body[data-run=finished]").count()) break;
    await page.waitForTimeout(200);
  }
  result.passed = { digit: await both("Digit"), step: await both("Step") };

  // Paused, it stands still; a network can be taken as it is; then it goes on.
  if (await page.locator("body[data-run=running]").count()) {
    // The button keeps the focus of a keyboard.
    await page.locator("#run").press("Enter");
    await enters("paused");
    result.focused = await page.locator("#run:focus").count();
    const still = await both("Step");
    await shot("paused");
    await page.waitForTimeout(1500);
    result.still = [still, await both("Step")];
    result.early = await saved("right", "early.safetensors");
    await page.locator("#run").click();
    await enters("running");
  }
  await enters("finished");
  result.rate = await page.locator("#rate").textContent();
  result.final = { digit: await both("Digit"), colour: await both("Colour R²"), step: await both("Step") };
  result.frames.still = (await still()).asked;
  result.map = await page.locator("[data-side=right] canvas").getAttribute("aria-label");
  result.saved = [await saved("left", "left.safetensors"), await saved("right", "right.safetensors")];

  await page.waitForTimeout(600);
  await shot("light");
  result.violations.push(...(await audit(page, "train")));
  await shot("dark");
  const desktop = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(300);
  await shot("phone-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForTimeout(300);
  await shot("phone");
  result.overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  result.violations.push(...(await audit(page, "train on a phone")));
  await page.setViewportSize(desktop);

  await drop(page, [job.own]);
  result.late = await page.locator("#status[data-kind=error]").textContent();
  await page.locator("#reset").click();
  await enters("idle");
  result.cleared = await figure("right", "Digit").textContent();
  result.workers = await workersLeft(page);
  result.address = new URL(page.url()).search;
  await page.goto(page.url());
  result.again = await page.locator("#iterations").inputValue();

  // A folder without classes is refused, one with them is learnt from; a file that holds no image is named and left out.
  const status = (kind) => page.locator(`#status[data-kind=${kind}]`);
  await page.setInputFiles("#folder", join(job.own, "0"));
  result.classless = await status("error").textContent();
  // The parts of a data set are not classes of their own.
  for (const part of ["train", "val"]) {
    for (const name of ["0", "1"]) await cp(join(job.own, name), join(job.folder, "parts", part, name), { recursive: true });
  }
  await page.setInputFiles("#folder", join(job.folder, "parts"));
  result.parts = await status("error").textContent();
  await drop(page, [job.own]);
  await page.locator("#source", { hasText: "classes" }).waitFor();
  result.source = await page.locator("#source").textContent();
  // This time the map may move.
  await page.emulateMedia({ reducedMotion: "no-preference" });
  const moving = await countFrames(page);
  await page.fill("#iterations", "20");
  await page.fill("#batch", "16");
  await page.locator("#run").click();
  await enters("finished");
  result.frames.moving = (await moving()).asked;
  result.own = { accuracy: await both("Class"), step: await both("Step") };
  await saved("right", "own.safetensors");
  await page.locator("#reset").click();
  result.plain = await learnFromPlain();
  await writeFile(join(job.own, "0", "broken.png"), "not a picture");
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(job.own, "1", name), "not a picture either");
  await page.fill("#iterations", "5000");
  await page.fill("#batch", "1024");
  await page.setInputFiles("#folder", job.own);
  await page.locator("#run").click();
  await enters("running");
  result.broken = [await page.locator("#status").textContent(), await page.locator("#source").textContent()];
  await page.locator("#reset").click();

  // Back to the digits; a reset ends the preparation too.
  await enters("idle");
  await page.locator("#drawn").click();
  result.drawn = await page.locator("#source").textContent();
  await page.locator("#run").click();
  await page.locator("#reset").click();
  await enters("idle");
  result.unprepared = await workersLeft(page);

  // A page that is left while it trains asks first. A step of one network fails: the networks of both so far are kept.
  const asks = () => page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
  await page.fill("#batch", "16");
  await page.fill("#iterations", "5000");
  await page.locator("#run").click();
  for (const side of ["left", "right"]) await figure(side, "Step").filter({ hasText: "of 5000" }).waitFor();
  result.asks = [await asks()];
  await page.evaluate(failNext, "train");
  await enters("failed");
  result.asks.push(await asks());
  result.failed = { status: await status("error").textContent(), step: await both("Step") };
  result.failed.saved = [await saved("left", "failed.safetensors"), await saved("right", "failed.safetensors")];
  await page.locator("#reset").click();
  await enters("idle");
  return result;

  /** Plain colours leave nothing to set aside, or nothing to compare: the page says so, whatever else it says of the run. */
  async function learnFromPlain() {
    const warning = (beside = "") => status("error").filter({ hasText: beside }).textContent();
    const top = () => page.locator("#run").evaluate((button) => button.offsetTop);
    // Longer than this test looks at it.
    await page.fill("#iterations", "5000");
    await page.setInputFiles("#folder", job.plain.grey);
    const before = await top();
    await page.locator("#run").click();
    await enters("running");
    const standing = [await warning()];
    const moved = (await top()) - before;
    await page.locator("#run").click();
    await enters("paused");
    standing.push(await warning());
    await drop(page, [job.own]);
    standing.push(await warning("press Reset"));
    await page.evaluate(failNext, "writeCheckpoint");
    await page.locator("[data-side=right] button").click();
    standing.push(await warning("the device broke"));
    await page.evaluate(failNext, "train");
    await page.locator("#run").click();
    await enters("failed");
    standing.push(await warning("the device broke. The curves"));
    await page.locator("#reset").click();

    await page.fill("#iterations", "20");
    const finished = {};
    for (const [name, folder] of Object.entries(job.plain)) {
      await page.setInputFiles("#folder", folder);
      await page.locator("#run").click();
      await enters("finished");
      finished[name] = await warning();
      await page.locator("#reset").click();
    }
    return { standing, moved, finished };
  }
}

/** Has the next call of a method fail, of whichever network makes it. Runs in the page. */
function failNext(method) {
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...more) {
    if (message.method !== method) {
      postMessage.call(this, message, ...more);
      return;
    }
    Worker.prototype.postMessage = postMessage;
    this.onmessage({ data: { id: message.id, error: { name: "Error", message: "the device broke" } } });
  };
}
