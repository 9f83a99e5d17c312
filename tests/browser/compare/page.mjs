// The page that trains two networks: what a visitor does there, and what it tells.
import { join } from "node:path";
import { figuresOf } from "../figures.mjs";
import { shotsOf } from "../shots.mjs";

/** Serves the page of a job `{ site, folder, screenshots }`; `folder` takes the downloads. */
export async function trainingIn(page, job, serve) {
  page.setDefaultTimeout(600_000);
  const address = `${await serve({ site: job.site })}/site/train.html`;
  // Numbers have units.
  const { figure, both } = figuresOf(page, Number.parseFloat);
  const textOf = (id) => page.locator(`#${id}`).textContent();
  const enters = (state) => page.locator(`body[data-run=${state}]`).waitFor();
  /** Presses the button, which starts, pauses and goes on, until the run enters a state. */
  const run = async (state) => {
    await page.locator("#run").click();
    await enters(state);
  };
  const reset = async () => {
    await page.locator("#reset").click();
    await enters("idle");
  };
  /** The error that the page shows, once it is one with some words. */
  const errorWith = (words = "") => page.locator("#status[data-kind=error]", { hasText: words }).textContent();
  /** Downloads the network of a side; gives the name that the page has for the file. */
  const saved = async (side, name) => {
    const button = page.locator(`[data-side=${side}] button`);
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    await download.saveAs(join(job.folder, name));
    return download.suggestedFilename();
  };
  /** True if the page asks before it is left: one with networks does, until one that has learnt is downloaded. */
  const asks = () => page.evaluate(() => !dispatchEvent(new Event("beforeunload", { cancelable: true })));
  const shot = shotsOf(page, job, "train");
  return { address, asks, both, enters, errorWith, figure, reset, run, saved, shot, textOf };
}

/** The message of the page about a run that failed, after the reason. */
export const KEPT = "The curves, and each network whose worker still answers, are kept until you press Reset.";

/** Has the next call of a method fail, of whichever network makes it. Runs in the page. */
export function failNext(method) {
  const { postMessage } = Worker.prototype;
  Worker.prototype.postMessage = function (message, ...more) {
    if (message.method !== method) {
      postMessage.call(this, message, ...more);
      return;
    }
    Worker.prototype.postMessage = postMessage;
    setTimeout(() => this.onmessage({ data: { id: message.id, error: { name: "Error", message: "the device broke" } } }));
  };
}
