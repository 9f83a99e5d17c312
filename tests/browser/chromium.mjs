// A Chromium of this machine, with or without WebGPU.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PLACES = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:/Program Files/Google/Chrome/Application/chrome.exe",
];

/** The program to run, or `undefined`. */
export function findChromium() {
  return PLACES.find((place) => place && existsSync(place));
}

/**
 * Of an emulated GPU. Without this switch the browser clamps every access to a buffer, which takes a fifth of the processor's time
 * and hides a kernel that reads beyond its buffer; on native devices no access is clamped either.
 */
const EMULATED = [
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-dawn-features=disable_robustness",
];

/** Starts a browser. Without `webgpu` it offers no adapter, as on a machine without a GPU. */
export function launch({ webgpu }) {
  return chromium.launch({
    executablePath: findChromium(),
    headless: true,
    args: [
      "--headless=new",
      "--no-sandbox",
      "--no-first-run",
      "--disable-quic",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...(webgpu ? EMULATED : []),
    ],
  });
}
