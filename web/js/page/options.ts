// Checks of the values that a page passes, and these in words for error messages: a misspelt option would be ignored, and
// WebAssembly or JSON would take some numbers for others.
import type { DeviceChoice } from "../shared/protocol.js";

const LONGEST_TEXT = 40;

/** A value in words, with its type where that is not plain. */
export function inWords(value: unknown): string {
  if (typeof value === "string") {
    return `the string ${JSON.stringify(value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value)}`;
  }
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (typeof value !== "object" || value === null) return `${value}`;
  if (Array.isArray(value)) return "a list";
  const kind = kindOf(value);
  if (kind === "Object") return "an object";
  return `${/^([AEIO]|HTML|SVG)/.test(kind) ? "an" : "a"} ${kind}`;
}

/** How to write a value that is no list as one, of things that are each called `one`. */
export function asList(value: unknown, one: string): string {
  // A spread makes a list of a `FileList`, a `NodeList`, a set; the letters of an address are no images.
  const areSeveral = typeof value === "object" && value !== null && Symbol.iterator in value;
  return areSeveral ? `[...${one}s]` : `[${one}]`;
}

/** The kind of an object, such as `Float32Array`, also of one that is from another frame. */
export function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** True for an array of numbers of one type; one of `bigint` holds none. */
export function isTyped(value: unknown): value is ArrayLike<number> {
  return ArrayBuffer.isView(value) && !/^(DataView|Big)/.test(kindOf(value));
}

/** True for values by name: the entries of a `Map` are none of its keys, and would be ignored. */
function isNamed(value: unknown): value is object {
  return typeof value === "object" && value !== null && kindOf(value) === "Object";
}

/** Throws unless options are an object whose keys are known. */
export function checkKeys(what: string, values: unknown, known: Readonly<Record<string, true>>): void {
  if (!isNamed(values)) throw new TypeError(`${what} are ${inWords(values)}, expected an object with values by name`);
  const unknown = Object.keys(values).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) {
    throw new TypeError(`${what} have an unknown \`${unknown}\`; known: ${Object.keys(known).join(", ")}`);
  }
}

/** Throws unless values by name are an object, or are left out. */
export function checkNamed(what: string, values: unknown): void {
  if (values === undefined || values === null || isNamed(values)) return;
  throw new TypeError(`\`${what}\` is ${inWords(values)}, expected an object with values by name`);
}

/** Throws if further values have a key that is given beside them, or has its only place there. */
export function checkOnce(what: string, further: object | undefined, own: Readonly<Record<string, unknown>>): void {
  checkNamed(what, further);
  const key = Object.keys(further ?? {}).find((key) => own[key] !== undefined);
  if (key !== undefined) {
    throw new TypeError(`\`${key}\` stands among \`${what}\` and has a place of its own beside them; give it there alone`);
  }
}

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
    const text = typeof device === "string" ? `"${device}"` : inWords(device);
    throw new RangeError(`device is ${text}, expected one of ${DEVICES.join(", ")}`);
  }
}
