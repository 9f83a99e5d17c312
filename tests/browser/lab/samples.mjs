// The samples of the loss lab: dragged, painted, pointed at, and kept in the address.
// A job: { site, screenshots }. Gives `cell`, the text on two samples under the Laplacian kernel, and the `hues` of all.
import assert from "node:assert/strict";
import { farthest, labIn } from "./page.mjs";

export default async function (job, page, serve) {
  const lab = await labIn(page, job, serve);
  await lab.open();
  await lab.preset("Set a colour aside");
  const started = await lab.state();
  await isPointedAt(lab, page, started);
  const dragged = await isDragged(lab, page, started);
  const painted = await isPainted(lab, page, dragged);
  await staysUnderAnotherButton(lab, page, painted);
  const cell = await tellsOfACell(lab, page);
  await tellsOfAPair(lab, page);
  const restored = await isInTheAddress(lab, page);
  await startsOver(lab, page, started, restored);
  await isMarkedNoMore(lab, page);
  await staysAfterATap(lab, job, page, serve);
  return { cell, hues: restored.sides[0].samples.hues };
}

/** Where a point of the left arena is on the page. */
async function placeOf(canvas, [x, y]) {
  const box = await canvas.boundingBox();
  const radius = box.width / 2 / 1.3;
  return [box.x + box.width / 2 + x * radius, box.y + box.height / 2 - y * radius];
}

async function isPointedAt({ canvas, textIn }, page, { sides }) {
  await canvas.scrollIntoViewIfNeeded();
  await page.mouse.move(...(await placeOf(canvas, sides[0].samples.views[0][0])));
  await page.locator("#focus", { hasText: "pull of its other view" }).waitFor();
  assert.match(await textIn("#focus"), /Sample 1, first view/);
}

/** Both sides move the point that is dragged; the points are not those of the preset any more. */
async function isDragged({ canvas, settled, state }, page, started) {
  await page.mouse.down();
  await page.mouse.move(...(await placeOf(canvas, [0, 1])), { steps: 6 });
  await page.mouse.up();
  await settled();
  const dragged = await state();
  const isOnTop = ([x, y]) => Math.hypot(x, y - 1) < 0.02;
  assert.deepEqual(dragged.sides.map(({ samples }) => samples.views.flat().filter(isOnTop).length), [1, 1]);
  assert.equal(await page.locator("#presets [aria-pressed=true]").count(), 0);
  const losses = [started, dragged].map(({ sides }) => sides[0].loss);
  assert.ok(Math.abs(losses[0] - losses[1]) > 1e-4, `${losses}`);
  return dragged;
}

async function isPainted({ canvas, settled, state, textIn }, page, dragged) {
  await canvas.focus();
  for (const key of ["ArrowRight", "Shift+ArrowUp", "Enter"]) await page.keyboard.press(key);
  await settled();
  const colour = "hue 216°, class 3 of 4";
  assert.equal(await page.locator("#hue").getAttribute("aria-valuetext"), colour);
  const text = await textIn("#focus");
  assert.ok(text.includes(`view, ${colour}. left: `), text);
  const painted = await state();
  const { hues } = dragged.sides[0].samples;
  assert.deepEqual(painted.sides[0].samples.hues.filter((hue, at) => hue !== hues[at]), [0.6]);
  return painted;
}

async function staysUnderAnotherButton({ canvas, settled, state }, page, painted) {
  await page.mouse.move(...(await placeOf(canvas, painted.sides[0].samples.views[0][0])));
  await page.mouse.down({ button: "right" });
  await page.mouse.move(...(await placeOf(canvas, [0, -1])), { steps: 3 });
  await page.mouse.up({ button: "right" });
  await settled();
  assert.equal(viewsOf(await state()), viewsOf(painted));
}

/** The text on a cell of the matrix of another kernel, under the pointer. */
async function tellsOfACell({ settled, shot, textIn }, page) {
  await page.selectOption("#kernel", "laplacian");
  await settled();
  const map = page.locator("#gram canvas");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.55);
  const cell = await textIn("#cell");
  await shot("kernel");
  return cell;
}

/** Every pair of points has a map of its own; the first one attracts. */
async function tellsOfAPair({ shot, textIn }, page) {
  await page.locator("#pairs summary").click();
  const pairs = page.locator("#left-pairs canvas");
  await pairs.scrollIntoViewIfNeeded();
  await pairs.focus();
  for (const key of ["ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await page.locator("#pair", { hasText: /left [−\d]/ }).waitFor();
  const text = await textIn("#pair");
  assert.ok(text.includes("first view) and sample") && text.includes("left −"), text);
  await shot("pairs");
  await page.locator("#pairs summary").click();
}

/** The address brings the same settings, kernel, points and losses back. */
async function isInTheAddress({ open, state, written }, page) {
  await page.mouse.move(0, 0);
  const address = await written();
  const left = await state();
  await open(address);
  const restored = await state();
  assert.equal(JSON.stringify(restored.state), JSON.stringify(left.state));
  assert.equal(restored.state.kernel, "laplacian");
  const difference = farthest(left, restored);
  assert.ok(difference < 1e-4, `the address has points that are ${difference} apart`);
  const [expected, losses] = [left, restored].map(({ sides }) => sides.map(({ loss }) => loss));
  assert.ok(losses.every((loss, side) => Math.abs(loss - expected[side]) < 1e-2), `${losses}, not ${expected}`);
  return restored;
}

/** After descent the start is what the address brought, and from there the samples of the seed. */
async function startsOver({ settled, state }, page, started, restored) {
  const press = async (id) => {
    await page.locator(id).click();
    await settled();
    return viewsOf(await state());
  };
  const starts = [viewsOf(restored), viewsOf(started)];
  assert.equal(starts.indexOf(await press("#step")), -1);
  assert.equal(await press("#reset"), starts[0]);
  assert.equal(await press("#reset"), starts[1]);
}

/** A sample that was marked by keyboard is marked no more once there are others. */
async function isMarkedNoMore({ focusCanvas, preset, settled, textIn }, page) {
  await preset("Set a colour aside");
  await focusCanvas();
  await page.keyboard.press("ArrowLeft");
  await page.locator("#cell", { hasText: "Samples 16 and 16" }).waitFor();
  await page.selectOption("#count", "8");
  await settled();
  assert.match(await textIn("#cell"), /^Point at a cell/);
}

/** On a touch screen, which has no mouse, the text on a sample or on a cell of a matrix stays until another place is tapped. */
async function staysAfterATap({ state, written }, job, page, serve) {
  const [address, { sides }] = [await written(), await state()];
  const context = await page.context().browser().newContext({ hasTouch: true, viewport: page.viewportSize() });
  try {
    const touched = await context.newPage();
    const failures = [];
    touched.on("pageerror", (error) => failures.push(String(error)));
    const { canvas, open, textIn, textOfFocus } = await labIn(touched, job, serve);
    await open(address);
    const tap = ([x, y]) => touched.touchscreen.tap(x, y);
    await canvas.scrollIntoViewIfNeeded();
    await tap(await placeOf(canvas, sides[0].samples.views[1][2]));
    await textOfFocus("Sample 3, second view");
    // The middle of the circle is far from all samples.
    await tap(await placeOf(canvas, [0, 0]));
    await touched.locator("#focus", { hasText: "Point at a sample" }).waitFor();
    for (const [map, down] of Object.entries({ "#gram canvas": 0.3, "#weights canvas": 0.6 })) {
      const before = await textIn("#cell");
      const { width, height } = await touched.locator(map).boundingBox();
      await touched.locator(map).tap({ position: { x: width * 0.3, y: height * down } });
      await touched.locator("#cell", { hasText: /^Samples /, hasNotText: before }).waitFor();
    }
    assert.deepEqual(failures, []);
  } finally {
    await context.close();
  }
}

const viewsOf = ({ sides }) => JSON.stringify(sides.map(({ samples }) => samples.views));
