// Uses the loss lab as a visitor would; screenshots go to `screenshots`.
// A job: { site, webgpu, device, screenshots }.
import { join } from "node:path";
import { audit } from "./audit.mjs";
import { countFrames } from "./frames.mjs";
import { chooseEach } from "./lab-objectives.mjs";
import { farthest, labIn, saveAhead } from "./lab-page.mjs";

export default async function (job, page, serve) {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  page.setDefaultTimeout(60_000);
  const shot = (name) => page.screenshot({ path: join(job.screenshots, `lab-${name}.png`), fullPage: true });
  const address = `${await serve({ site: job.site })}/site/lab.html`;
  const { open, saved, state, numberOf, both, preset, settled, descend } = labIn(page);
  const result = { violations: [] };

  // A preset, and descent: the losses fall, and one objective mixes the colours where the other does not.
  await open(address);
  await shot("light");
  await preset("Set a colour aside");
  await settled();
  result.before = { loss: await both("Loss"), shared: await both("Shared colour") };
  await descend(
    async () => (await numberOf("right", "Shared colour")) < (await numberOf("left", "Shared colour")) - 0.3,
  );
  result.after = { loss: await both("Loss"), shared: await both("Shared colour") };
  await shot("descended");

  // Without motion the same descent shows few of its steps.
  const shown = async (reducedMotion) => {
    await page.emulateMedia({ reducedMotion });
    await preset("Set a colour aside");
    await settled();
    await page.evaluate(() => {
      window.shown = 0;
      new MutationObserver(() => window.shown++).observe(document.querySelector("dl.numbers"), { childList: true });
    });
    await page.locator("#run").click();
    await page.waitForTimeout(2500);
    await page.locator("#run").press("Enter");
    const count = await page.evaluate(() => window.shown);
    await settled();
    return count;
  };
  result.shown = { still: await shown("reduce"), moving: await shown("no-preference") };

  // While it runs, the texts follow the samples, and a screen reader speaks none of them.
  const canvas = page.locator("[data-side=left] canvas");
  const live = () =>
    page.evaluate(() => ["focus", "pair", "cell"].map((id) => document.querySelector(`#${id}`).ariaLive));
  const textOf = async (start, before = "") => {
    const isThere = ([start, before]) => {
      const text = document.querySelector("#focus").textContent;
      return text.startsWith(start) && text.includes("other view") && text !== before && text;
    };
    return (await page.waitForFunction(isThere, [start, before])).jsonValue();
  };
  await preset("Set a colour aside");
  await settled();
  await page.locator("#run").click();
  result.spoken = { during: await live(), texts: [] };
  // Where no scrolling brings a canvas under it.
  await page.mouse.move(0, 0);
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  result.spoken.texts.push(await textOf("Sample 1, "));
  result.spoken.texts.push(await textOf("Sample 1, ", result.spoken.texts[0]));
  await page.keyboard.press("ArrowRight");
  result.spoken.texts.push(await textOf("Sample 2, "));
  await page.locator("#run").press("Enter");
  result.spoken.after = await live();

  // Everything saved while the samples move belongs together, and its address shows it again.
  await preset("Set a colour aside");
  await settled();
  await page.evaluate(saveAhead);
  await page.locator("#run").click();
  result.running = await state();
  await page.locator("#run").press("Enter");
  await open(result.running.address);
  await settled();
  result.reopened = farthest(result.running, await state());

  // Stopped and started at once it is one descent still, which asks for one frame at a time.
  await settled();
  const frames = await countFrames(page);
  await page.evaluate(() => {
    for (let click = 0; click < 3; click++) document.querySelector("#run").click();
  });
  await page.waitForTimeout(1000);
  await page.locator("#run").press("Enter");
  await settled();
  result.frames = await frames();

  // The first point of the left arena: pointed at, dragged, painted.
  await preset("Set a colour aside");
  await settled();
  const started = await state();
  const placeOf = async ([x, y]) => {
    const box = await canvas.boundingBox();
    const radius = box.width / 2 / 1.3;
    return [box.x + box.width / 2 + x * radius, box.y + box.height / 2 - y * radius];
  };
  await canvas.scrollIntoViewIfNeeded();
  await page.mouse.move(...(await placeOf(started.sides[0].samples.views[0][0])));
  await page.locator("#focus", { hasText: "pull of its other view" }).waitFor();
  result.focus = await page.locator("#focus").textContent();
  await page.mouse.down();
  await page.mouse.move(...(await placeOf([0, 1])), { steps: 6 });
  await page.mouse.up();
  await settled();
  const dragged = await state();
  const tops = dragged.sides.map(
    ({ samples }) => samples.views.flat().filter(([x, y]) => Math.hypot(x, y - 1) < 0.02).length,
  );
  // The points are not those of the preset any more.
  result.pressedAfterDrag = await page.locator("#presets [aria-pressed=true]").count();
  result.drag = { tops, loss: [started, dragged].map(({ sides }) => sides[0].loss) };
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Shift+ArrowUp");
  await page.keyboard.press("Enter");
  await settled();
  const painted = await state();
  result.painted = painted.sides[0].samples.hues.filter((hue, at) => hue !== dragged.sides[0].samples.hues[at]);

  // Another button of the mouse moves nothing.
  await page.mouse.move(...(await placeOf(painted.sides[0].samples.views[0][0])));
  await page.mouse.down({ button: "right" });
  await page.mouse.move(...(await placeOf([0, -1])), { steps: 3 });
  await page.mouse.up({ button: "right" });
  await settled();
  const viewsOf = ({ sides }) => JSON.stringify(sides.map(({ samples }) => samples.views));
  result.isUntouched = viewsOf(await state()) === viewsOf(painted);

  // Another kernel; its matrix under the pointer.
  await page.selectOption("#kernel", "laplacian");
  await settled();
  const map = page.locator("#gram canvas");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.55);
  result.cell = await page.locator("#cell").textContent();
  await shot("kernel");

  // Every pair of points, in a map of its own.
  await page.locator("#pairs summary").click();
  const pairs = page.locator("#left-pairs canvas");
  await pairs.scrollIntoViewIfNeeded();
  await pairs.focus();
  for (const key of ["ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await page.locator("#pair", { hasText: /left [−\d]/ }).waitFor();
  result.pair = await page.locator("#pair").textContent();
  await shot("pairs");
  await page.locator("#pairs summary").click();

  // The address brings everything back.
  await page.mouse.move(0, 0);
  // It is written a quarter of a second after the last change.
  await page.waitForTimeout(400);
  result.address = page.url();
  const left = await state();
  await open(result.address);
  const restored = await state();
  result.restored = {
    state: JSON.stringify(restored.state) === JSON.stringify(left.state),
    kernel: restored.state.kernel,
    farthest: farthest(left, restored),
    loss: [left, restored].map(({ sides }) => sides.map(({ loss }) => loss)),
    hues: restored.sides[0].samples.hues,
  };

  // Parts of an address that the lab cannot take are named until something else is chosen.
  const told = async (hash) => {
    await open(`${address}#${hash}`);
    await settled();
    return page.locator("#status").textContent();
  };
  result.told = [];
  for (const hash of ["left=zzz&right=fair-cclk.zzz&temperature=NaN&points=9&a=!", "left=dcl&tau_plus=0.4"]) {
    result.told.push(await told(hash));
  }
  result.told.push(await told("seed=-1"));
  await page.selectOption("#count", "8");
  await settled();
  result.told.push(await page.locator("#status").textContent());
  // Numbers that mean nothing are told of too, on whichever side they stand.
  const narrow = "seed=8&points=8&kernel=rbf&bandwidth=0.03";
  result.warned = [await told(`${narrow}&left=fair-cclk.paper&right=fair-cclk.released`)];
  result.warned.push(await told(`${narrow}&left=nt-xent&right=fair-cclk.paper`));
  await told("seed=8&points=8&left=nt-xent&right=fair-cclk.paper");
  await page.mouse.move(0, 0);
  await canvas.focus();
  for (let sample = 0; sample < 8; sample++) {
    for (const key of ["ArrowRight", "Enter"]) await page.keyboard.press(key);
  }
  await settled();
  result.warned.push(await page.locator("#status").textContent());
  await open(result.address);

  // After descent the start is what the address brought, and from there the samples of the seed.
  const startOver = async () => {
    await page.locator("#reset").click();
    await settled();
    return viewsOf(await state());
  };
  await page.locator("#step").click();
  await settled();
  const descended = viewsOf(await state());
  const starts = [await startOver(), await startOver()];
  result.starts = [descended, ...starts].map((views) => [viewsOf(restored), viewsOf(started)].indexOf(views));
  await open(result.address);

  // The files that the page saves, and the texts that it copies.
  result.csv = (await saved("save-csv"))
    .trim()
    .split("\n")
    .map((line) => line.split(",").length);
  const svg = await saved("save-svg");
  result.svg = await page.evaluate((text) => {
    const drawing = new DOMParser().parseFromString(text, "image/svg+xml");
    return {
      error: drawing.querySelector("parsererror")?.textContent ?? "",
      shapes: drawing.querySelectorAll("circle, rect, polyline").length,
      // The end of the left path in the last chart, above that of the right one.
      last: [...drawing.querySelectorAll("circle, rect")].at(-1)?.localName,
    };
  }, svg);
  result.code = {};
  for (const language of ["rust", "recipe", "torch"]) {
    await page.locator(`#copy-${language}`).click();
    await page.locator("#taken", { hasText: /copied|below|no such/ }).waitFor();
    result.code[language] = await page.evaluate(() => navigator.clipboard.readText());
  }

  // Each preset, each objective: none fails, and the claims hold that are numbers.
  result.presets = {};
  for (const title of await page.locator("#presets button").allTextContents()) {
    await preset(title);
    await settled();
    await page.locator("#copy-recipe").click();
    result.presets[title] = {
      recipe: await page.locator("#code").textContent(),
      story: await page.locator("#story").textContent(),
      status: await page.locator("#status").textContent(),
      loss: await both("Loss"),
      gradient: await both("Gradient norm"),
    };
  }

  // Loaded again, the page still tells of the last of them; its address is written a quarter of a second after the
  // change.
  await page.waitForTimeout(400);
  await open(page.url());
  const texts = ["#story", "#presets [aria-pressed=true]"].map((each) => page.locator(each).textContent());
  result.reloaded = await Promise.all(texts);

  // The page says the pull of a pair before the pair is drawn apart, and names the side that takes the weights shown.
  await preset("Uncouple the pair");
  await settled();
  await page.mouse.move(0, 0);
  await canvas.focus();
  await page.keyboard.press("ArrowRight");
  result.uncoupled = await textOf("Sample 1, ");
  await preset("What clipping does");
  await page.locator("#shuffle").click();
  await settled();
  result.pressed = await page.locator("#presets [aria-pressed=true]").count();
  const sideShown = async (scheme) => {
    await page.selectOption("#weight-scheme", scheme);
    await settled();
    return (await page.locator("#kernel-note").textContent()).split(": ")[0];
  };
  result.sides = [await sideShown("released"), await sideShown("normalised"), await sideShown("paper")];

  // Without a ridge the left side rests while the right one moves.
  await preset("No ridge, no gradient");
  await settled();
  const rested = await both("Loss");
  await descend(async () => (await numberOf("right", "Loss")) < rested[1] - 0.5);
  result.rested = [rested, await both("Loss")];

  await open(address);
  Object.assign(result, await chooseEach(page, settled));
  // The kernel of an objective without a condition compares the points, and follows them.
  const ofKernel = async () => {
    const texts = ["kernel-note", "gram-title", "weights-title"].map((id) => page.locator(`#${id}`).textContent());
    const [note, title, weights] = await Promise.all(texts);
    return { note, title, weights, ...(await state()).sides[0].samples };
  };
  const setting = "right=nt-xent&kernel=rbf&bandwidth=0.5&lambda=0.01&weights=paper&seed=7";
  await open(`${address}#left=hardneg-cclk.paper&${setting}`);
  result.hardneg = [await ofKernel()];
  for (let step = 0; step < 5; step++) await page.locator("#step").click();
  await settled();
  result.hardneg.push(await ofKernel());
  await page.locator("#copy-recipe").click();
  result.recipe = await page.locator("#code").textContent();

  // A form sets more than its formula does: its factor of distances, and a ridge that grows with the batch.
  const ofForm = async () => {
    const note = await page.locator("[data-side=left] .formula .note").textContent();
    return { ...(await ofKernel()), values: note, loss: await numberOf("left", "Loss") };
  };
  await open(`${address}#left=kernel-decoupled-uniformity&${setting}`);
  result.forms = { released: await ofForm() };
  await page.locator("[data-side=left] select").nth(1).selectOption("paper");
  await settled();
  result.forms.paper = await ofForm();
  const labels = page.locator("#sliders label");
  result.labels = await labels.evaluateAll((each) => each.map((label) => label.firstChild.textContent));
  result.refused = await page.locator("#refused li").allTextContents();

  // A sphere, more dimensions, dark, a phone, a frame; and what an audit says of them.
  await preset("On a sphere");
  await settled();
  await canvas.focus();
  await page.keyboard.press("d");
  result.violations.push(...(await audit(page, "lab")));
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("dark");
  await page.selectOption("#dims", "8");
  await settled();
  await page.setViewportSize({ width: 390, height: 844 });
  await preset("Set a colour aside");
  await settled();
  await shot("phone-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await shot("phone");
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  result.overflow = await overflow();
  result.violations.push(...(await audit(page, "lab on a phone")));

  // A figure has its colours where the system forces its own on the page.
  await page.emulateMedia({ forcedColors: "active" });
  const drawn = await saved("save-svg");
  const [, background] = drawn.match(/<rect [^>]* fill="([^"]*)"/);
  const [, sphere] = drawn.match(/<circle [^>]* fill="none" stroke="([^"]*)"/);
  result.forced = { background, sphere };
  await page.emulateMedia({ forcedColors: "none" });

  // A sample that was marked by keyboard is marked no more once there are others.
  await page.mouse.move(0, 0);
  await canvas.focus();
  await page.keyboard.press("ArrowLeft");
  await page.locator("#cell", { hasText: "Samples 16 and 16" }).waitFor();
  await page.selectOption("#count", "8");
  await settled();
  result.unmarked = await page.locator("#cell").textContent();
  await open(`${address}?embed=1${new URL(result.address).hash}`);
  result.embedded = { header: await page.locator("body > header").isVisible(), overflow: await overflow() };
  await shot("embedded");

  return result;
}
