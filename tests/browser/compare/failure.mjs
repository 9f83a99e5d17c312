// The networks of a run that fails, and the device that computes where WebGPU is asked for and missing.
// A job: { site, device, folder, screenshots }; `folder` takes the downloads.
import assert from "node:assert/strict";
import { failNext, KEPT, trainingIn } from "./page.mjs";

export default async function (job, page, serve) {
  const visit = await trainingIn(page, job, serve);
  await keepsBothNetworks(visit, page, job);
  await computesOnTheCpu(visit, page);
}

/** A step of one network fails: the figures and the networks of both so far are kept. */
async function keepsBothNetworks({ address, asks, both, enters, errorWith, figure, reset, run, saved }, page, { device }) {
  await page.goto(`${address}?device=${device}&iterations=5000&batch=16`);
  await run("running");
  for (const side of ["left", "right"]) await figure(side, "Step").filter({ hasText: "of 5000" }).waitFor();
  assert.equal(await asks(), true);
  await page.evaluate(failNext, "train");
  await enters("failed");
  assert.equal(await asks(), true);
  const status = await errorWith();
  assert.match(status, / failed after step /);
  assert.ok(status.includes(`: the device broke. ${KEPT}`), status);
  const steps = await both("Step");
  assert.ok(steps.every((step) => step > 0), `${steps}`);
  assert.equal(await saved("left", "failed.safetensors"), "simclr.safetensors");
  assert.equal(await saved("right", "failed.safetensors"), "fair-cclk.safetensors");
  assert.equal(await asks(), false);
  await reset();
}

/** Without the WebGPU that an address asks for. */
async function computesOnTheCpu({ address, reset, run, textOf }, page) {
  await page.goto(`${address}?device=webgpu&iterations=5000&batch=8`);
  await run("running");
  assert.match(await textOf("status"), /^CPU: WebAssembly with SIMD \(WebGPU cannot be used: /);
  await reset();
}
