// The WebGPU bundle: loaded on demand, and used if its results agree with those of the CPU.
import { bundle } from "../shared/bundle.js";
import { messageOf } from "../shared/errors.js";
import type { DeviceInfo } from "../shared/protocol.js";
import * as webgpu from "../generated/webgpu.js";
import { findAdapter } from "./adapter.js";

/** The device of the bundle that is always there. */
export const CPU: DeviceInfo = { kind: "cpu", name: "WebAssembly with SIMD", software: false };

/**
 * Tolerance of the self-test: the difference of a value on WebGPU from the same value on the CPU, relative to the
 * largest.
 */
const SELF_TEST_TOLERANCE = 1e-3;

/** A device of the bundle, with its description. */
export interface Gpu {
  readonly device: webgpu.Device;
  readonly info: DeviceInfo;
}

/** The device of this thread: an adapter can be opened once, and reopened from the device that was opened last. */
let opened: Promise<Gpu> | undefined;
let last: webgpu.Device | undefined;

/** Gets the bundle where it is not there yet, and opens the adapter that the browser prefers. */
export function openGpu(): Promise<Gpu> {
  if (!opened) {
    const opening = open();
    opened = opening;
    // After a failure the next call tries again.
    opening.catch(() => (opened = undefined));
  }
  return opened;
}

/** A replacement for a lost device: the same for all its users. */
export async function reopenGpu(lost: Gpu): Promise<Gpu> {
  if ((await opened) === lost) opened = undefined;
  return openGpu();
}

async function open(): Promise<Gpu> {
  const adapter = await findAdapter();
  if ("missing" in adapter) throw new NoAdapter(unusable(adapter.missing));
  await webgpu.default({ module_or_path: await bundle("webgpu") });
  last = last ? await last.reopened() : await webgpu.Device.webgpu();
  return { device: last, info: { kind: "webgpu", ...adapter } };
}

/** The CPU with the reason why it is quicker than WebGPU here, or there is none; `undefined` where WebGPU is worth a test. */
export async function cpuByAdapter(): Promise<DeviceInfo | undefined> {
  const adapter = await findAdapter();
  if ("missing" in adapter) return onCpu(adapter.missing);
  if (adapter.software) return onCpu(`the WebGPU adapter ${adapter.name} is emulated on the CPU`);
  return undefined;
}

/** The CPU, with the reason why WebGPU does not compute. */
export function onCpu(reason: string): DeviceInfo {
  return { ...CPU, reason };
}

/** The CPU after an attempt to use WebGPU. */
export function onCpuAfter(error: unknown): DeviceInfo {
  return onCpu(error instanceof NoAdapter ? error.message : unusable(messageOf(error)));
}

/** An error whose message says already that WebGPU cannot be used. */
class NoAdapter extends Error {}

function unusable(reason: string): string {
  return `WebGPU cannot be used: ${reason}`;
}

/** Throws unless the numbers of WebGPU agree with those of the CPU. */
export function checkAgreement({ name }: DeviceInfo, expected: ArrayLike<number>, numbers: ArrayLike<number>): void {
  const values = Array.from(expected);
  const scale = Math.max(...values.map(Math.abs));
  const error = Math.max(...values.map((value, at) => Math.abs(value - (numbers[at] ?? Number.NaN))));
  if (!(error <= SELF_TEST_TOLERANCE * scale)) {
    throw new Error(`${name} does not compute what the CPU computes (difference ${error})`);
  }
}
