// Describes the values that a page passes, for error messages, and refuses unknown options: a misspelt one would be ignored.

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
export function checkKeys(what: string, given: unknown, known: Readonly<Record<string, true>>): void {
  if (!isNamed(given)) throw new TypeError(`${what} are ${inWords(given)}, expected an object with values by name`);
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(known, key));
  if (unknown !== undefined) {
    throw new TypeError(`${what} have an unknown \`${unknown}\`; known: ${Object.keys(known).join(", ")}`);
  }
}

/** Throws unless values by name are an object, or are left out. */
export function checkNamed(what: string, given: unknown): void {
  if (given === undefined || given === null || isNamed(given)) return;
  throw new TypeError(`\`${what}\` is ${inWords(given)}, expected an object with values by name`);
}

/** Throws if further values have a key that is given beside them, or has its only place there. */
export function checkOnce(what: string, further: object | undefined, own: Readonly<Record<string, unknown>>): void {
  checkNamed(what, further);
  const key = Object.keys(further ?? {}).find((key) => own[key] !== undefined);
  if (key !== undefined) {
    throw new TypeError(`\`${key}\` stands among \`${what}\` and has a place of its own beside them; give it there alone`);
  }
}

/** The first line of an error, without an unclosed bracket at its end: a chain of causes that repeats the message. */
export function messageOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
  return first.replace(/ \([^)]*$/, "");
}

/** The signal among the options of a call. */
export function signalOf(options: { readonly signal?: AbortSignal }): AbortSignal | undefined {
  checkKeys("the options of the call", options, { signal: true });
  checkSignal(options.signal);
  return options.signal;
}

/** Throws for a signal that is none, such as the controller that has it. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || signal === null || kindOf(Object(signal)) === "AbortSignal") return;
  throw new TypeError(`\`signal\` is ${inWords(signal)}, expected an AbortSignal, such as \`controller.signal\``);
}
