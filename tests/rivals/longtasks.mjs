// Uses the pages of the site as a visitor does and prints the longest tasks of their main thread as a Markdown table:
//
//     (cd ../browser && npm ci) && node longtasks.mjs
//
// A browser reports a task from 50 ms on, the time from which a page feels slow to answer. `cargo web build` comes first.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "../browser/chromium.mjs";
import { serve } from "../browser/serve.mjs";

/** The actions of a visitor on each page, one entry for every `NAME.html` in `www`. */
const VISITS = {
  "index.html": async (page) => {
    await page.locator("#another:enabled").waitFor();
    for (let digit = 0; digit < 5; digit++) {
      await page.locator("#another").click();
      await page.waitForTimeout(300);
    }
  },
  "lab.html": async (page) => {
    await page.locator("#lab:not([aria-busy])").waitFor();
    const presets = page.locator("#presets button");
    for (let preset = 0; preset < (await presets.count()); preset++) {
      await presets.nth(preset).click();
      await page.waitForTimeout(500);
    }
    await page.locator("#run").click();
    await page.waitForTimeout(5000);
  },
  "train.html": async (page) => {
    await page.locator("#run").press("Enter");
    await page.locator("body[data-run=running]").waitFor();
    await page.waitForTimeout(30_000);
  },
  "embed.html": async (page) => {
    await page.locator("#drawn").click();
    await page.locator("#status", { hasText: "200 images were embedded" }).waitFor();
    await page.waitForTimeout(1000);
  },
};

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const pages = (await readdir(here("../../www"))).filter((file) => file.endsWith(".html"));
const unvisited = pages.filter((name) => !Object.hasOwn(VISITS, name));
if (unvisited.length > 0) {
  throw new Error(`VISITS of longtasks.mjs has no actions on ${unvisited.join(", ")}; write what a visitor does there`);
}

const server = await serve({ site: here("../../www/dist") });
const browser = await launch({ webgpu: false });
try {
  console.log("| page | tasks of 50 ms and more | longest, ms | all of them, ms |\n|---|---|---|---|");
  for (const [name, visit] of Object.entries(VISITS)) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(120_000);
    await page.addInitScript(() => {
      globalThis.longTasks = [];
      const note = (list) => globalThis.longTasks.push(...list.getEntries().map((task) => Math.round(task.duration)));
      new PerformanceObserver(note).observe({ type: "longtask", buffered: true });
    });
    await page.goto(`${server.address}/site/${name}?device=cpu`);
    await visit(page);
    const tasks = await page.evaluate(() => globalThis.longTasks);
    console.log(`| ${name} | ${tasks.length} | ${Math.max(0, ...tasks)} | ${tasks.join(", ")} |`);
    await page.close();
  }
} finally {
  await browser.close();
  server.close();
}
