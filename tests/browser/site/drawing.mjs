// Draws a digit on WebGPU, and sees what both encoders make of it: the rest of the page does not depend on the device.
// A job: { site, webgpu, device, screenshots }.
import assert from "node:assert/strict";
import { siteIn, tellsTheEncodersApart } from "./page.mjs";

export default async function (job, page, serve) {
  const visit = await siteIn(page, job, serve);
  await visit.open();
  await visit.shot("light");
  await tellsTheEncodersApart(visit);
  await visit.draw();
  await visit.showOnMap("SimCLR (NT-Xent)");
  assert.match(await visit.textOf("device"), /^webgpu/i);
  // The CPU draws the digits of the map.
  visit.fetches("cpu", "webgpu");
}
