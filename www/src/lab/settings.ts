// The parameters of objectives as core describes them, and their values.
import type { ListedParameter } from "simile-web";

export type Value = number | boolean | string;

/** Values of parameters by name; a parameter that is not among them has its default. */
export type Settings = Readonly<Record<string, Value>>;

/** The bandwidth of a kernel, which is a setting of the parameter `kernel`. */
export const BANDWIDTH: ListedParameter = {
  name: "bandwidth",
  symbol: "σ",
  kind: "number",
  range: "above 0",
  default: 0.5,
  meaning: "bandwidth of the kernel, for colours or points of length 1",
  slider: { low: 0.03, high: 10, start: 0.5, scale: "logarithmic" },
};

/** True if the lab has a control for a parameter: a slider, a box to tick, or a choice among names. */
export function hasControl({ kind, slider }: ListedParameter): boolean {
  return slider !== undefined || kind === "flag" || kind === "choice";
}

/** The value of a parameter: as set, else its default, else the one that a slider starts with. */
export function valueOf({ name, default: byDefault, slider }: ListedParameter, settings: Settings): Value {
  return settings[name] ?? (byDefault as Value | null) ?? slider?.start ?? 0;
}

/** Reads the value of a parameter from text; `undefined` if the parameter cannot have it. */
export function parse({ kind, names, slider }: ListedParameter, text: string): Value | undefined {
  if (kind === "flag") return text === "true" ? true : text === "false" ? false : undefined;
  if (kind === "choice") return names?.find((name) => name === text);
  const value = Number(text);
  if (kind === "integer" && !Number.isInteger(value)) return undefined;
  // A value such as 10^-1.5 is rounded in an address.
  const isInside = text !== "" && slider && value >= slider.low * 0.99 && value <= slider.high * 1.01;
  return isInside ? value : undefined;
}

/** A value as text for addresses. */
export const format = (value: Value): string => `${typeof value === "number" ? Number(value.toPrecision(4)) : value}`;

/** A value as text for people. */
export function shown(value: Value, digits = 3): string {
  if (typeof value !== "number") return `${value}`;
  const rounded = Number(value.toPrecision(digits));
  return value !== 0 && Math.abs(value) < 1e-3 ? rounded.toExponential() : `${rounded}`;
}

/** The position of a slider for a value, and back. */
export function positionOf({ slider }: ListedParameter, value: number): number {
  return slider?.scale === "logarithmic" ? Math.log10(value) : value;
}

export function valueAt({ slider }: ListedParameter, position: number): number {
  return slider?.scale === "logarithmic" ? 10 ** position : position;
}
