// Arguments of calls of the npm package, and errors of those that cannot be answered; on the CPU, because none of it depends
// on the device.
// A job: { package, data, checkpoint, images }; `data` is the folder of the files it names.
import { areRefused } from "../refusals.mjs";
import { openPackage } from "./page.mjs";
import { callBrowsers, callDigits, callEncoders, callInputs, callPictures, callSettings } from "./refusals.mjs";
import { takesSettings } from "./settings.mjs";

export const absent = "/none.safetensors";

export default async function (job, page, serve) {
  await openPackage(page, job, serve);
  // Before the page has a bundle.
  areRefused(await page.evaluate(callBrowsers));
  for (const call of [callEncoders, callPictures, callSettings, callInputs, callDigits]) {
    areRefused(await page.evaluate(call, job));
  }
  await takesSettings(page);
}
