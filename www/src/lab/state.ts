// The state of the lab, and its form in the address.
import type { Catalogue, Choice } from "./catalogue.js";
import { pack, unpack } from "./packing.js";
import type { Draw, Samples } from "./samples.js";
import { format, parse, type Settings } from "./settings.js";
import { WEIGHT_SCHEMES, type WeightScheme } from "./weight-scheme.js";

/** The spaces that points can lie in. */
export const DIMENSIONS = [2, 3, 8] as const;
export const COUNTS = [8, 16, 32] as const;

export interface State {
  readonly draw: Draw;
  readonly choices: readonly [Choice, Choice];
  readonly settings: Settings;
  readonly kernel: string;
  /** The weights that the second heat map shows. */
  readonly weightScheme: WeightScheme;
}

/** A state with the points of each objective, where they differ from those of the seed. */
export interface Snapshot {
  readonly state: State;
  readonly moved?: readonly [Samples, Samples];
}

const SIDES = ["left", "right"] as const;

export function toHash({ state, moved }: Snapshot): string {
  const { draw, choices, settings, kernel, weightScheme } = state;
  const parameters = new URLSearchParams({
    seed: `${draw.seed}`,
    points: `${draw.count}`,
    dims: `${draw.dims}`,
    colours: draw.colours,
  });
  for (const [at, side] of SIDES.entries()) {
    const { objective, variant } = choices[at] as Choice;
    parameters.set(side, variant ? `${objective}.${variant}` : objective);
  }
  parameters.set("kernel", kernel);
  parameters.set("weights", weightScheme);
  for (const [name, value] of Object.entries(settings)) parameters.set(name, format(value));
  if (moved) {
    const [left, right] = moved.map(pack);
    parameters.set("a", left ?? "");
    if (right !== left) parameters.set("b", right ?? "");
  }
  return `#${parameters}`;
}

/** Reads the state from an address; missing or invalid parts are taken from `initial`. */
export function fromHash(hash: string, initial: State, catalogue: Catalogue): Snapshot {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const text = (name: string) => parameters.get(name) ?? "";
  const oneOf = <T>(name: string, values: readonly T[], otherwise: T): T =>
    values.find((value) => `${value}` === text(name)) ?? otherwise;

  const choices = SIDES.map((side, at) => {
    const [objective = "", variant = ""] = text(side).split(".");
    const candidates = [
      { objective, variant },
      { objective, variant: "" },
    ];
    return candidates.find((candidate) => catalogue.has(candidate)) ?? (initial.choices[at] as Choice);
  }) as [Choice, Choice];
  const read = catalogue.parameters.flatMap((parameter) => {
    const value = parse(parameter, text(parameter.name));
    return value === undefined ? [] : [[parameter.name, value] as const];
  });
  const settings: Settings = { ...initial.settings, ...Object.fromEntries(read) };
  const seed = Number(text("seed"));
  const draw: Draw = {
    seed: Number.isSafeInteger(seed) && seed > 0 ? seed : initial.draw.seed,
    count: oneOf("points", COUNTS, initial.draw.count),
    dims: oneOf("dims", DIMENSIONS, initial.draw.dims),
    colours: oneOf("colours", ["hues", "groups"], initial.draw.colours),
  };
  const kernels = catalogue.kernels.map(({ name }) => name);
  const kernel = oneOf("kernel", kernels, initial.kernel);
  const weightScheme = oneOf("weights", WEIGHT_SCHEMES, initial.weightScheme);
  const state = { draw, choices, settings, kernel, weightScheme };

  const left = unpack(text("a"), draw);
  if (!left) return { state };
  return { state, moved: [left, unpack(text("b"), draw) ?? structuredClone(left)] };
}
