// A plain page that uses the npm package.
import { listensToRefusals } from "../refusals.mjs";

/** Opens it for a job `{ package, data }`; `data` is the folder of the files that a job names. */
export async function openPackage(page, job, serve) {
  await listensToRefusals(page);
  await page.addInitScript(() => {
    /** Has a server give a page in the place of a file until the function that this gives is called. */
    window.unserve = (file) => {
      // This thread fetches for its workers.
      const { fetch } = window;
      const page = () => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } });
      window.fetch = async (...input) => (`${input[0]}`.endsWith(file) ? page() : fetch(...input));
      return () => (window.fetch = fetch);
    };
  });
  await page.goto(await serve({ package: job.package, data: job.data }));
}
