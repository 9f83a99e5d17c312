// Chooses every objective, form and kernel of the loss lab.

/**
 * The page of each: the texts that can be copied, and the failures. An `apart` kernel is one under which no two
 * samples are alike, of which the page warns.
 */
export async function chooseEach(page, settled) {
  const [failures, snippets] = [[], []];
  const select = page.locator("[data-side=left] select").first();
  const variants = page.locator("[data-side=left] select").nth(1);
  // Both sides alike, so that a text is that of one setting.
  const choose = async (nth, value) => {
    for (const side of ["left", "right"]) await page.locator(`[data-side=${side}] select`).nth(nth).selectOption(value);
  };
  // Within the page, because there are hundreds of texts; a visitor's clicks are another test.
  const collect = async () => {
    const texts = await page.evaluate(() => {
      const code = document.querySelector("#code");
      const offered = (language) => {
        document.querySelector(`#copy-${language}`).click();
        return code.checkVisibility() ? code.textContent : null;
      };
      return Object.fromEntries(["rust", "recipe", "torch"].map((language) => [language, offered(language)]));
    });
    snippets.push(texts);
  };
  const valuesOf = (list) => list.locator("option").evaluateAll((options) => options.map((option) => option.value));
  const objectives = await valuesOf(select);
  for (const name of objectives) {
    await choose(0, name);
    for (const variant of ["", ...(await valuesOf(variants))]) {
      if (variant) await choose(1, variant);
      await settled();
      await collect();
      const [status, formula, values] = await page.evaluate(() =>
        ["#status", "[data-side=left] .formula math", "[data-side=left] .formula .values"].map(
          (selector) => document.querySelector(selector).textContent,
        ),
      );
      const isShown = formula.includes("=") && /^L = .*\d$/.test(values);
      if (status || !isShown) failures.push(`${name} ${variant}: ${status || formula + values}`);
    }
  }
  await choose(0, "kernel-decoupled-uniformity");
  await settled();
  const weights = await page.inputValue("#weight-scheme");
  await choose(0, "fair-cclk");
  const forms = await variants.locator("option").allTextContents();
  const apart = {};
  for (const kernel of await valuesOf(page.locator("#kernel"))) {
    await page.selectOption("#kernel", kernel);
    await settled();
    await collect();
    const [status, note] = await Promise.all(
      ["status", "kernel-note"].map((id) => page.locator(`#${id}`).textContent()),
    );
    if (status) apart[kernel] = status;
    if (!note.includes("condition number")) failures.push(`${kernel}: ${note}`);
  }
  return { failures, snippets, objectives, weights, variants: forms, apart };
}
