// Every objective, form and kernel of the loss lab, with its formula, parameters, weights and code.
// A job: { site, screenshots }. Gives `snippets`, the texts that can be copied; the names of the `objectives`, and the lines on
// those that are `refused`; and what the page shows of `hardneg` before and after descent, and of two `forms`.
import assert from "node:assert/strict";
import { labIn } from "./page.mjs";

/** The lists of a side. */
const [OBJECTIVE, FORM] = [0, 1];
/** The parameters beside the objective on the left in some addresses. */
const BESIDE = "right=nt-xent&kernel=rbf&bandwidth=0.5&lambda=0.01&weights=paper&seed=7";

export default async function (job, page, serve) {
  const lab = await labIn(page, job, serve);
  await lab.open();
  const objectives = await valuesOf(list(page, "left", OBJECTIVE));
  const snippets = await chooseEach(lab, page, objectives);
  await showsTheWeightsOfTheChoice(lab, page);
  snippets.push(...(await chooseEachKernel(lab, page)));
  const hardneg = await comparesPoints(lab, page);
  const forms = await showsBothForms(lab, page);
  const refused = await page.locator("#refused li").allTextContents();
  await namesParameters(lab, page);
  await writesFormulas(lab, page);
  await showsTheWeightsOfEachForm(lab, page);
  return { snippets, objectives, refused, hardneg, forms };
}

const list = (page, side, nth) => page.locator(`[data-side=${side}] select`).nth(nth);
const valuesOf = (list) => list.locator("option").evaluateAll((options) => options.map((option) => option.value));

/** Chooses the same on both sides, so that a text is that of one setting. */
async function choose(page, nth, value) {
  for (const side of ["left", "right"]) await list(page, side, nth).selectOption(value);
}

/** The texts that can be copied. Within the page, because there are hundreds; a visitor's clicks are another test. */
function offered(page) {
  return page.evaluate(() => {
    const code = document.querySelector("#code");
    const offered = (language) => {
      document.querySelector(`#copy-${language}`).click();
      return code.checkVisibility() ? code.textContent : null;
    };
    return Object.fromEntries(["rust", "recipe", "torch"].map((language) => [language, offered(language)]));
  });
}

/** Every objective in each of its forms has a formula with values, and texts to copy. */
async function chooseEach({ settled }, page, objectives) {
  const [failures, snippets] = [[], []];
  for (const name of objectives) {
    await choose(page, OBJECTIVE, name);
    for (const form of ["", ...(await valuesOf(list(page, "left", FORM)))]) {
      if (form) await choose(page, FORM, form);
      await settled();
      snippets.push(await offered(page));
      const [status, formula, values] = await page.evaluate(() =>
        ["#status", "[data-side=left] .formula math", "[data-side=left] .formula .values"].map(
          (selector) => document.querySelector(selector).textContent,
        ),
      );
      const isShown = formula.includes("=") && /^L = .*\d$/.test(values);
      if (status || !isShown) failures.push(`${name} ${form}: ${status || formula + values}`);
    }
  }
  assert.deepEqual(failures, []);
  return snippets;
}

/** The map shows the weights of the latest choice, and a list names the form that is evaluated where none is chosen. */
async function showsTheWeightsOfTheChoice({ settled }, page) {
  await choose(page, OBJECTIVE, "kernel-decoupled-uniformity");
  await settled();
  assert.equal(await page.inputValue("#weight-scheme"), "paper");
  await choose(page, OBJECTIVE, "fair-cclk");
  const [form] = await list(page, "left", FORM).locator("option").allTextContents();
  assert.equal(form, "as normalised (default)");
}

/** The map shows the weights that core states for a form. */
async function showsTheWeightsOfEachForm({ open, settled }, page) {
  await open(`#left=nt-xent&${BESIDE}`);
  const shown = async (nth, value) => {
    await list(page, "left", nth).selectOption(value);
    await settled();
    return page.inputValue("#weight-scheme");
  };
  assert.equal(await shown(OBJECTIVE, "fair-cclk"), "normalised");
  for (const form of ["paper", "released", "normalised"]) assert.equal(await shown(FORM, form), form);
}

/** The page warns of the one kernel under which no two samples are alike. */
async function chooseEachKernel({ settled, textIn }, page) {
  const [warnings, snippets] = [{}, []];
  for (const kernel of await valuesOf(page.locator("#kernel"))) {
    await page.selectOption("#kernel", kernel);
    await settled();
    snippets.push(await offered(page));
    const status = await textIn("#status");
    if (status) warnings[kernel] = status;
    assert.match(await textIn("#kernel-note"), /condition number/, kernel);
  }
  const apart = "no two colours are alike under this kernel, so colour has no effect";
  assert.deepEqual(warnings, { "exact-match": `both sides: ${apart}; choose another kernel.` });
  return snippets;
}

/** The texts beside the maps of the kernel, and the samples of the left side. */
async function kernelShown({ state, textIn }) {
  const [note, title, weights] = await Promise.all(["#kernel-note", "#gram-title", "#weights-title"].map(textIn));
  return { note, title, weights, ...(await state()).sides[0].samples };
}

/** The kernel of an objective without a condition compares the points, and follows them; its recipe has no condition. */
async function comparesPoints(lab, page) {
  await lab.open(`#left=hardneg-cclk.paper&${BESIDE}`);
  const before = await kernelShown(lab);
  for (let step = 0; step < 5; step++) await page.locator("#step").click();
  await lab.settled();
  const after = await kernelShown(lab);
  for (const { title, weights } of [before, after]) {
    assert.match(title, /first views/);
    assert.equal(weights, "(K + λI)⁻¹K");
  }
  assert.notEqual(before.note, after.note);
  assert.doesNotMatch(await lab.code("recipe"), /colours/);
  return [before, after];
}

/** A form sets more than its formula does: its factor of distances, and a ridge that grows with the batch. */
async function showsBothForms(lab, page) {
  await lab.open(`#left=kernel-decoupled-uniformity&${BESIDE}`);
  const shown = async (values) => {
    const note = await lab.textIn("[data-side=left] .formula .note");
    assert.ok(note.startsWith(values), note);
    return { ...(await kernelShown(lab)), loss: await lab.numberOf("left", "Loss") };
  };
  const released = await shown("t = 2");
  await list(page, "left", FORM).selectOption("paper");
  await lab.settled();
  const forms = { released, paper: await shown("t = 1") };
  const labels = await labelsOf(page);
  assert.ok(labels.includes("t"), `${labels}`);
  return forms;
}

const labelsOf = (page) =>
  page.locator("#sliders label").evaluateAll((labels) => labels.map((label) => label.firstChild.textContent));

/** The parameters of both sides have names, and their meanings beside them. */
async function namesParameters({ open }, page) {
  await open("#left=barlow-twins&right=align-uniform");
  assert.deepEqual(await labelsOf(page), [
    "Lambda",
    "Batch norm epsilon",
    "Alpha",
    "t",
    "Alignment weight",
    "Uniformity weight",
  ]);
  assert.equal((await page.locator("#sliders small").allTextContents())[4], "factor of the alignment");
}

/** A formula has the weights of its form, and what it does not show is told beside it. */
async function writesFormulas({ preset, settled, textIn }, page) {
  const note = () => textIn("[data-side=right] .formula .note");
  await preset("Set a colour aside");
  assert.equal(await page.locator("[data-side=right] .formula math").count(), 3);
  assert.match(await note(), /As normalised: non-negative weights in rows of sum 1; ours\.$/);

  await preset("On a sphere");
  const controls = page.locator("#sliders :is(input, select)");
  // A base temperature has no effect on either side.
  assert.deepEqual(await controls.evaluateAll((all) => all.map(({ name }) => name)), ["temperature", "reduction"]);
  await page.locator("#sliders [name=reduction]").selectOption("sum");
  await settled();
  const told = await note();
  assert.ok(told.includes("reduction = sum (mean or sum over the anchors; a sum is not divided by their number)"), told);
}
