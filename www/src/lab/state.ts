// The state of the lab, and its form in the address.
import type { Catalogue, Choice } from "./catalogue.js";
import { pack, unpack } from "./packing.js";
import type { Draw, Samples } from "./samples.js";
import { format, parse, type Settings } from "./settings.js";
import { SIDES } from "./sides.js";
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

/** A snapshot that an address asks for, and the parts of the address that the lab does not have, as they are written. */
interface AddressContent extends Snapshot {
  readonly refused: readonly string[];
}

/** Longest value of an address that is repeated in full: points are hundreds of letters. */
const LONGEST = 30;

/** Reads the state from an address; missing or invalid parts are taken from `initial`. */
export function fromHash(hash: string, initial: State, catalogue: Catalogue): AddressContent {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const refused: string[] = [];
  /** A part as `read` understands it; one that it does not understand is refused. */
  const part = <T>(name: string, read: (text: string) => T | undefined): T | undefined => {
    const text = parameters.get(name);
    if (text === null) return undefined;
    const value = read(text);
    if (value === undefined) refused.push(`${name}=${text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}`);
    return value;
  };
  const oneOf = <T>(name: string, values: readonly T[], otherwise: T): T =>
    part(name, (text) => values.find((value) => `${value}` === text)) ?? otherwise;

  const choices = SIDES.map((side, at) => {
    const [objective = "", variant = ""] = (parameters.get(side) ?? "").split(".");
    const known = (choice: Choice) => (catalogue.has(choice) ? choice : undefined);
    const choice = part(side, () => known({ objective, variant }));
    return choice ?? known({ objective, variant: "" }) ?? (initial.choices[at] as Choice);
  }) as [Choice, Choice];
  const read = catalogue.parameters.flatMap((parameter) => {
    const value = part(parameter.name, (text) => parse(parameter, text));
    return value === undefined ? [] : [[parameter.name, value] as const];
  });
  const settings: Settings = { ...initial.settings, ...Object.fromEntries(read) };
  const seed = part("seed", (text) => {
    const value = Number(text);
    return Number.isSafeInteger(value) && value > 0 ? value : undefined;
  });
  const draw: Draw = {
    seed: seed ?? initial.draw.seed,
    count: oneOf("points", COUNTS, initial.draw.count),
    dims: oneOf("dims", DIMENSIONS, initial.draw.dims),
    colours: oneOf("colours", ["hues", "groups"], initial.draw.colours),
  };
  const kernels = catalogue.kernels.map(({ name }) => name);
  const kernel = oneOf("kernel", kernels, initial.kernel);
  const weightScheme = oneOf("weights", WEIGHT_SCHEMES, initial.weightScheme);
  const state = { draw, choices, settings, kernel, weightScheme };

  const [left, right] = ["a", "b"].map((name) => part(name, (text) => unpack(text, draw)));
  if (!left) return { state, refused };
  return { state, moved: [left, right ?? structuredClone(left)], refused };
}
