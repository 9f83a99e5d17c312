// Does the jobs of the tests, several at once: node jobs.mjs. Playwright is loaded once, and all jobs without WebGPU share a browser.
//
// The first line on stdout is `{ "browser": … }`, the path of the browser or null. From then on each line on stdin is a job,
// `{ id, script, job }`, and each further line on stdout an answer, `{ id, result, complaints }` or `{ id, error }`. A script
// in this folder exports a function of the job, the page and `serve`, and the end of an address that is `absent` on purpose. It
// uses a page, asserts what the page decides alone, and gives what only Rust can judge.
import { createInterface } from "node:readline";
import { inspect } from "node:util";
import { findChromium, launch } from "./chromium.mjs";
import { serve } from "./serve.mjs";

/** Seconds after which a job has failed: an evaluation in a page has no timeout. The longest job trains for up to 900. */
const LONGEST = 1200;

let shared;

/** With WebGPU a browser of its own, because a job may take its GPU away; for any other job one browser, until it ends. */
function open(job) {
  if (job.webgpu) return launch(job);
  shared ??= launch(job).then((browser) => browser.on("disconnected", () => (shared = undefined)));
  return shared;
}

async function perform({ script, job }) {
  const { default: act, absent } = await import(`./${script}`);
  const browser = await open(job);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const servers = [];
  let complaints = [];
  let timer;
  const late = new Promise((_, reject) => {
    const reason = () => `there is no answer after ${LONGEST} seconds; errors in the page: ${inspect(complaints)}`;
    timer = setTimeout(() => reject(new Error(reason())), 1000 * LONGEST);
  });
  try {
    const page = await context.newPage();
    complaints = complaintsOf(page, absent);
    /** Gives the address of a server that ends with the job. */
    const serveForJob = async (...input) => {
      const server = await serve(...input);
      servers.push(server);
      return server.address;
    };
    return { result: await Promise.race([act(job, page, serveForJob), late]), complaints };
  } finally {
    clearTimeout(timer);
    await (job.webgpu ? browser : context).close();
    for (const server of servers) server.close();
  }
}

/** The errors of a page, as they come, but for those of a file that is absent on purpose. */
function complaintsOf(page, absent) {
  const complaints = [];
  const isExpected = (address) => absent !== undefined && address.endsWith(absent);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !isExpected(message.location().url)) complaints.push(message.text());
  });
  page.on("response", (response) => {
    if (!response.ok() && !isExpected(response.url())) complaints.push(`${response.status()} ${response.url()}`);
  });
  return complaints;
}

const answer = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
answer({ browser: findChromium() ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...job } = JSON.parse(line);
  perform(job).then(
    (done) => answer({ id, ...done }),
    // With the values of an assertion that has a message of its own.
    (error) => answer({ id, error: inspect(error) }),
  );
}
await (await shared)?.close();
