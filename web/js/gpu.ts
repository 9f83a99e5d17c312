// The WebGPU bundle: fetched when it is wanted, and believed when it computes what the CPU computes.
import { findAdapter } from "./adapter.js";
import * as webgpu from "./generated/webgpu.js";
import type { DeviceChoice, DeviceInfo } from "./protocol.js";

/** The device of the bundle that is always there. */
export const CPU: DeviceInfo = { kind: "cpu", name: "WebAssembly with SIMD", software: false };

/** How far a value on WebGPU may lie from the same value on the CPU, relative to the largest, to be believed. */
const SELF_TEST_TOLERANCE = 1e-3;

/** A device of the bundle, and what it is. */
export interface Gpu {
  readonly device: webgpu.Device;
  readonly info: DeviceInfo;
}

/** The one of this thread: an adapter can be opened once, and reopened from the device that was opened last. */
let opened: Promise<Gpu> | undefined;
let last: webgpu.Device | undefined;

/** Fetches the bundle where it is not there yet, and opens the adapter that the browser prefers. */
export function openGpu(): Promise<Gpu> {
  if (!opened) {
    const opening = open();
    opened = opening;
    // What failed may be tried again.
    opening.catch(() => (opened = undefined));
  }
  return opened;
}

/** A device in the place of one that was lost: the same for all that had it. */
export async function reopenGpu(lost: Gpu): Promise<Gpu> {
  if ((await opened) === lost) opened = undefined;
  return openGpu();
}

async function open(): Promise<Gpu> {
  const adapter = await findAdapter();
  if ("missing" in adapter) throw new Error(`WebGPU cannot be used: ${adapter.missing}`);
  await webgpu.default({ module_or_path: new URL("./webgpu.wasm", import.meta.url) });
  last = last ? await last.reopened() : await webgpu.Device.webgpu();
  return { device: last, info: { kind: "webgpu", ...adapter } };
}

/** Why `auto` or `cpu` stays on the CPU; `undefined` where the choice leads to WebGPU. */
export async function reasonForCpu(choice: DeviceChoice): Promise<DeviceInfo | undefined> {
  if (choice === "cpu") return CPU;
  if (choice === "webgpu") return undefined;
  const adapter = await findAdapter();
  if ("missing" in adapter) return { ...CPU, reason: adapter.missing };
  if (adapter.software) return { ...CPU, reason: `the WebGPU adapter ${adapter.name} is emulated on the CPU` };
  return undefined;
}

/** Throws unless WebGPU found the numbers that the CPU found. */
export function checkAgreement({ name }: DeviceInfo, expected: ArrayLike<number>, found: ArrayLike<number>): void {
  const values = Array.from(expected);
  const scale = Math.max(...values.map(Math.abs));
  const error = Math.max(...values.map((value, at) => Math.abs(value - (found[at] ?? Number.NaN))));
  if (!(error <= SELF_TEST_TOLERANCE * scale)) {
    throw new Error(`${name} does not compute what the CPU computes (difference ${error})`);
  }
}

/** The first line of an error, without what it opens and does not close: a chain of causes that says the same again. */
export function messageOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
  return first.replace(/ \([^)]*$/, "");
}
