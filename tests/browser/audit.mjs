// The faults that axe-core finds in a page, in light and in dark.
import { readFile } from "node:fs/promises";
import { rests } from "./still.mjs";

/** Violations as lines that name the page, the colours, the rule and the elements. */
export async function audit(page, name) {
  // As a CDP evaluation the checker is not subject to the page's policy.
  await page.evaluate(await readFile(new URL("./node_modules/axe-core/axe.min.js", import.meta.url), "utf8"));
  const violations = [];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    // Colours fade from one scheme to the other.
    await rests(page);
    const results = await page.evaluate(() => axe.run());
    violations.push(
      ...results.violations.map(({ id, nodes }) => `${name}, ${colorScheme}: ${id} ${nodes.map((n) => n.html)}`),
    );
  }
  return violations;
}
