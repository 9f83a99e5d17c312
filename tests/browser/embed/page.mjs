// The page that embeds images: what a visitor does there, and what it tells.
import { shotsOf } from "../shots.mjs";

/** Serves the page and the data of a job `{ site, data, device, screenshots }`. */
export async function embeddingIn(page, job, serve) {
  page.setDefaultTimeout(120_000);
  const address = await serve({ site: job.site, data: job.data });
  const open = () => page.goto(`${address}/site/embed.html?device=${job.device}`);
  const isThere = () => page.locator("#encoder", { hasText: "lenet5" }).waitFor();
  const textOf = (id) => page.locator(`#${id}`).textContent();
  const says = (text) => page.locator("#status", { hasText: text }).waitFor();
  const saysError = (text) => page.locator("#status[data-kind=error]", { hasText: text }).waitFor();
  /** Has the page embed the digits that it draws. */
  const embedDrawn = async () => {
    await page.locator("#drawn").click();
    await says("200 images were embedded");
  };
  return { address, embedDrawn, isThere, open, says, saysError, shot: shotsOf(page, job, "embed"), textOf };
}
