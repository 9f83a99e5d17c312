// Pictures of a page, for those who want to see what a test saw.
import { join } from "node:path";

/** Gives a function that takes one of a whole page by its name, in the folder of a job. */
export function shotsOf(page, { screenshots }, group) {
  return (name) => page.screenshot({ path: join(screenshots, `${group}-${name}.png`), fullPage: true });
}
