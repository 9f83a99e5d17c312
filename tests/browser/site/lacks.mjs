// The words of the page for a browser without WebGPU, WebAssembly or JavaScript; nothing is waited for.
// A job: { site, webgpu, device, screenshots }.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { siteIn } from "./page.mjs";

export default async function (job, page, serve) {
  const visit = await siteIn(page, job, serve);
  await computesOnTheCpu(visit, page);
  await loadsNoEncoder(visit, page);
  await hasWordsWithoutScripts(job);
}

/** Without the WebGPU that an address asks for. */
async function computesOnTheCpu({ open, textOf }, page) {
  await open("webgpu");
  await page.locator("#status", { hasText: "no WebGPU adapter. The CPU computes instead." }).waitFor();
  assert.match(await textOf("device"), /^CPU: WebAssembly with SIMD \(WebGPU cannot be used/);
  assert.equal(await page.inputValue("#choice"), "cpu");
}

async function loadsNoEncoder({ address, textOf }, page) {
  await page.addInitScript(() => delete globalThis.WebAssembly);
  await page.goto(address);
  await page.locator("#status", { hasText: "Fair-CCLK and SimCLR" }).waitFor();
  assert.match(await textOf("status"), /Chrome, Edge, Firefox or Safari$/);
  assert.match(await textOf("device"), /^No encoder is loaded/);
  assert.equal(await textOf("encoder"), "none");
}

async function hasWordsWithoutScripts({ site }) {
  const pages = (await readdir(site)).filter((file) => file.endsWith(".html"));
  const texts = await Promise.all(pages.map((file) => readFile(join(site, file), "utf8")));
  assert.deepEqual(pages.filter((_, at) => !texts[at].includes("<noscript>")), []);
}
