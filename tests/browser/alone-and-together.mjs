// Embeds images one by one and all at once: node alone-and-together.mjs JOB.json, result as JSON on stdout.
// A job: { package, data, webgpu, device, checkpoint, images }; `data` is the folder of the files it names.
import { readFile } from "node:fs/promises";
import { launch } from "./chromium.mjs";
import { serve } from "./serve.mjs";

const job = JSON.parse(await readFile(process.argv[2], "utf8"));
const server = await serve({ package: job.package, data: job.data });
const browser = await launch(job);
try {
  const page = await browser.newPage();
  await page.goto(server.address);
  console.log(JSON.stringify(await page.evaluate(use, job)));
} finally {
  await browser.close();
  server.close();
}

/** Runs in the page. */
async function use({ device, checkpoint, images }) {
  const { Encoder } = await import("/package/index.js");
  const encoder = await Encoder.load(`/data/${checkpoint}`, { device });
  const blobs = await Promise.all(images.map(async (name) => (await fetch(`/data/${name}`)).blob()));
  const alone = [];
  for (const blob of blobs) alone.push([...(await encoder.embed(blob))]);
  const { data, dims } = await encoder.embedBatch(blobs);
  const together = blobs.map((_, at) => [...data.subarray(at * dims[1], (at + 1) * dims[1])]);
  return { encoder: encoder.info.encoder, alone, together };
}
