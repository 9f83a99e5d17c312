// Checks of what a page gives, and what would be taken for something else.
import type { DeviceChoice } from "./protocol.js";

/** Throws unless a number is an integer in a range: WebAssembly takes 1.5 for 1, and -1 for 4294967295. */
export function checkInteger(name: string, value: number, least: number, most = 0xffff_ffff): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is ${value}, expected an integer from ${least} to ${most}`);
  }
}

/** Throws for a number that is not finite: JSON has `null` for it, by which some parameters mean a default. */
export function checkFinite(values: object, list = ""): void {
  for (const [key, value] of Object.entries(values) as [string, unknown][]) {
    const name = Array.isArray(values) ? `${list}[${key}]` : key;
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new RangeError(`\`${name}\` is ${value}, expected a finite number`);
    }
    if (typeof value === "object" && value !== null) checkFinite(value, name);
  }
}

const DEVICES: readonly DeviceChoice[] = ["auto", "cpu", "webgpu"];

/** Throws unless a device is one of those that can be chosen. */
export function checkDevice(device: DeviceChoice): void {
  if (!DEVICES.includes(device)) throw new RangeError(`device is "${device}", expected one of ${DEVICES.join(", ")}`);
}
