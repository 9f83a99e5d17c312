// The numbers that a page with two sides shows of each.

/** Finds them by side and name; `read` makes a number of a text. */
export function figuresOf(page, read = Number) {
  const figure = (side, name) =>
    page.locator(`[data-side=${side}] dl.numbers div`, { has: page.locator("dt", { hasText: name }) }).locator("dd");
  const numberOf = async (side, name) => read((await figure(side, name).textContent()).replace("−", "-"));
  const both = async (name) => [await numberOf("left", name), await numberOf("right", name)];
  return { figure, numberOf, both };
}
