// The settings of the sliders, and the kernel, under the names of core's objectives.

/** One slider: its name, its symbol, and its range, on a logarithmic (base 10) or linear scale. */
interface Range {
  readonly title: string;
  readonly symbol: string;
  readonly low: number;
  readonly high: number;
  readonly isPower: boolean;
  readonly initial: number;
}

export const RANGES = {
  temperature: { title: "Temperature", symbol: "τ", low: -1.5, high: 0.5, isPower: true, initial: 0.2 },
  lambda: { title: "Ridge", symbol: "λ", low: -5, high: 2, isPower: true, initial: 0.01 },
  bandwidth: { title: "Bandwidth", symbol: "σ", low: -1.5, high: 1, isPower: true, initial: 0.5 },
  beta: { title: "Hardness", symbol: "β", low: 0, high: 5, isPower: false, initial: 1 },
  tau_plus: { title: "Class prior", symbol: "τ⁺", low: 0, high: 0.5, isPower: false, initial: 0.1 },
  mix: { title: "Share of the class term", symbol: "mix", low: 0, high: 1, isPower: false, initial: 0.5 },
  t: { title: "Reach", symbol: "t", low: -1, high: 1.2, isPower: true, initial: 2 },
  alpha: { title: "Exponent", symbol: "α", low: 1, high: 4, isPower: false, initial: 2 },
  sigma: { title: "Width of the pair weights", symbol: "σ", low: -1, high: 1, isPower: true, initial: 0.5 },
  lambd: { title: "Redundancy", symbol: "λ", low: -4, high: 0, isPower: true, initial: 0.0051 },
} as const satisfies Record<string, Range>;

export type SettingName = keyof typeof RANGES;
export type Settings = Readonly<Record<SettingName, number>>;

export const SETTING_NAMES = Object.keys(RANGES) as SettingName[];

export const DEFAULTS = Object.fromEntries(SETTING_NAMES.map((name) => [name, RANGES[name].initial])) as Settings;

/** The position of a slider for a value, and back. */
export const positionOf = (name: SettingName, value: number) => (RANGES[name].isPower ? Math.log10(value) : value);
export const valueAt = (name: SettingName, position: number) => (RANGES[name].isPower ? 10 ** position : position);

/** The kernels that the lab offers; the value is true if the kernel has a bandwidth. */
export const KERNELS = {
  rbf: { title: "RBF", hasBandwidth: true },
  laplacian: { title: "Laplacian", hasBandwidth: true },
  linear: { title: "Linear", hasBandwidth: false },
  cosine: { title: "Cosine", hasBandwidth: false },
  polynomial: { title: "Polynomial", hasBandwidth: false },
} as const;

export type KernelName = keyof typeof KERNELS;

/** A kernel as core reads it. */
export function kernelOf(name: KernelName, { bandwidth }: Settings): Record<string, unknown> {
  return KERNELS[name].hasBandwidth ? { name, sigma: bandwidth } : { name };
}
