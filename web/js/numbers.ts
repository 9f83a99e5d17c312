// Checks of numbers that a page passes and that WebAssembly or JSON would take for others.
import { inWords } from "./given.js";
import type { DeviceChoice } from "./protocol.js";

/** Digits that are drawn at most: their pixels take 300 MB of WebAssembly's memory, of which there are at most 4 GB. */
export const MOST_DIGITS = 100_000;

/** Throws unless a number is an integer in a range: WebAssembly takes 1.5 for 1, and -1 for 4294967295. */
export function checkInteger(name: string, value: number, least: number, most = 0xffff_ffff): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is ${inWords(value)}, expected an integer from ${least} to ${most}`);
  }
}

/**
 * Throws for a number that is not finite: JSON writes `null` for it, which means the default for some parameters. JSON has no
 * big integers either.
 */
export function checkFinite(values: object, list = ""): void {
  for (const [key, value] of Object.entries(values) as [string, unknown][]) {
    const name = Array.isArray(values) || ArrayBuffer.isView(values) ? `${list}[${key}]` : key;
    if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) {
      throw new RangeError(`\`${name}\` is ${inWords(value)}, expected a finite number`);
    }
    if (typeof value === "object" && value !== null) checkFinite(value, name);
  }
}

const DEVICES: readonly DeviceChoice[] = ["auto", "cpu", "webgpu"];

/** Throws unless a device is one of those that can be chosen. */
export function checkDevice(device: DeviceChoice): void {
  if (!DEVICES.includes(device)) {
    const given = typeof device === "string" ? `"${device}"` : inWords(device);
    throw new RangeError(`device is ${given}, expected one of ${DEVICES.join(", ")}`);
  }
}
