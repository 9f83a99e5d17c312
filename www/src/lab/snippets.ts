// The chosen setting as code in several languages.
import type { Setting } from "simile-web";
import type { Offered } from "./catalogue.js";
import { CLASSES } from "./samples.js";
import { SIDES } from "./sides.js";

export type Language = "rust" | "recipe" | "torch";

/** The setting of a side, and its objective. */
export interface Chosen {
  readonly setting: Setting;
  readonly entry: Offered;
}

/** Settings as code. */
export interface Snippet {
  readonly text: string;
  /** False if there is no tested code for one of the settings. */
  readonly isWhole: boolean;
}

/** Settings as code, one of those that are the same; `undefined` where there is no tested code for any of them. */
export function snippetOf(language: Language, sides: readonly Chosen[]): Snippet | undefined {
  const [one, both] = WRITERS[language];
  const texts = sides.map(one);
  const isNew = (text: string | undefined, at: number) => text !== undefined && texts.indexOf(text) === at;
  const different = sides.filter((_, at) => isNew(texts[at], at));
  const text = different.length > 1 ? both(different) : texts.find((each) => each !== undefined);
  return text === undefined ? undefined : { text, isWhole: !texts.includes(undefined) };
}

/** The code of one setting, and that of two different ones, by language. */
const WRITERS: Record<Language, readonly [(one: Chosen) => string | undefined, (both: readonly Chosen[]) => string]> = {
  rust: [rust, rustOfBoth],
  recipe: [recipe, (both) => both.map(recipe).join("\n")],
  torch: [torch, torchOfBoth],
};

/** The parameters that stand in the formula as a symbol, and those that differ from their defaults. */
function parametersOf({ kernel, params = {} }: Setting, { parameterDetails }: Offered): Record<string, unknown> {
  const written = parameterDetails.filter(
    ({ name, symbol, default: byDefault }) => name in params && (symbol !== undefined || params[name] !== byDefault),
  );
  const values = Object.fromEntries(written.map(({ name }) => [name, params[name]]));
  return { ...(kernel !== undefined && { kernel }), ...values };
}

const IMPORTS = `use simile_core::loss;
use simile_core::loss::batch::Batch;
`;

function rust(chosen: Chosen): string {
  return `${IMPORTS}
${objectiveAndBatch(chosen)}
let loss = loss::loss(objective.as_ref(), &batch)?;
`;
}

/** A block for each side, which leaves the inputs to the other one. */
function rustOfBoth(both: readonly Chosen[]): string {
  const blocks = both.map((chosen, at) => {
    const lines = objectiveAndBatch(chosen, (name) => `${name}.clone()`).replaceAll("\n", "\n    ");
    return `
let ${SIDES[at]} = {
    ${lines}
    loss::loss(objective.as_ref(), &batch)?
};
`;
  });
  return IMPORTS + blocks.join("");
}

/** The objective, and a batch of inputs, whose code `inputCode` gives by name. */
function objectiveAndBatch({ setting, entry }: Chosen, inputCode = (name: string) => name): string {
  const variant = setting.variant ? `Some("${setting.variant}")` : "None";
  const parts = entry.inputDetails.map(
    ({ name, kind }) => `.${kind === "host" ? "with_condition" : "with_indices"}("${name}", ${inputCode(name)})`,
  );
  const parameters = JSON.stringify(parametersOf(setting, entry), tidy, 4).replaceAll("\n", "\n    ");
  return `let objective = loss::build(
    "${setting.objective}",
    ${variant},
    serde_json::json!(${parameters}),
)?;
let batch = Batch::views(${inputCode("view_a")}, ${inputCode("view_b")})${parts.join("")};`;
}

/** The source that core has, and a call with the setting. */
function torch(chosen: Chosen): string | undefined {
  const { pytorch } = chosen.entry;
  return pytorch === null ? undefined : `${pytorch}\n\nloss = ${callOf(chosen)}\n`;
}

/** Each side with its source right above: functions of two sources may share a name. */
function torchOfBoth(both: readonly Chosen[]): string {
  const sources = both.map(({ entry }) => entry.pytorch);
  const parts = both.flatMap((chosen, at) => [
    ...(sources.indexOf(chosen.entry.pytorch) === at ? [`${chosen.entry.pytorch}\n\n`] : []),
    `${SIDES[at]} = ${callOf(chosen)}\n${at === 0 ? "\n" : ""}`,
  ]);
  return parts.join("");
}

/** A call of the function that is the loss. */
function callOf({ setting, entry }: Chosen): string {
  const { variant } = setting;
  const parameters = Object.entries({ ...parametersOf(setting, entry), ...(variant && { variant }) });
  // `lambda` is a keyword of Python.
  const named = parameters.map(([name, value]) => `${name === "lambda" ? "lambda_" : name}=${python(value)}`);
  const call = [...["view_a", "view_b", ...entry.inputs], ...named].join(", ");
  return `${entry.name.replaceAll("-", "_")}(${call})`;
}

function python(value: unknown): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object" || value === null) return JSON.stringify(tidy("", value));
  const entries = Object.entries(value).map(([name, inner]) => `"${name}": ${python(inner)}`);
  return `{${entries.join(", ")}}`;
}

/**
 * A variant of a recipe; its data set has to have the variables that are named here. Two forms of an objective have two
 * names.
 */
function recipe({ setting, entry }: Chosen): string {
  const { inputs, hasClusters } = entry;
  const name = setting.variant ? `${entry.title}, ${setting.variant}` : entry.title;
  const lines = [
    ...(inputs.includes("labels") && !hasClusters ? ["# The labels are the classes of the data set."] : []),
    "[[variant]]",
    `name = "${name}"`,
    "",
    "[variant.objective]",
    `name = "${setting.objective}"`,
    ...(setting.variant ? [`variant = "${setting.variant}"`] : []),
    ...(inputs.includes("z") || hasClusters ? ['condition = "colour"'] : []),
    ...(hasClusters ? [`clusters = ${CLASSES}`] : []),
    ...(inputs.includes("bias") ? ['bias = "palette"        # the colour as a category'] : []),
    ...Object.entries(parametersOf(setting, entry)).map(
      ([name, value]) => `${name} = ${isInteger(name, entry) ? `${value}` : toml(value)}${noteOn(name, value, entry)}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * The lab's colours lie on a circle of radius 1, those of the data sets in a cube of side 255. An objective without a condition
 * compares the representation, which in a run is not of length 1.
 */
function noteOn(name: string, value: unknown, { inputs }: Offered): string {
  const hasBandwidth = name === "kernel" && typeof value === "object" && value !== null && "sigma" in value;
  if (!hasBandwidth) return "";
  return inputs.includes("z")
    ? "      # for colours on a circle of radius 1; on 0..255 RGB start at 20"
    : "      # for points of length 1; a run compares the encoder's output, which is longer";
}

function isInteger(of: string, { parameterDetails }: Offered): boolean {
  return parameterDetails.some(({ name, kind }) => name === of && kind === "integer");
}

function toml(value: unknown): string {
  if (typeof value === "number") return decimal(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, inner]) => `${name} = ${toml(inner)}`)
    .join(", ")} }`;
}

/** A decimal point is added, because TOML distinguishes 2.0 from 2, and core has floats here. */
function decimal(value: number): string {
  const text = `${tidy("", value)}`;
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** Rounds numbers, because values of sliders have many digits. */
function tidy(_: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(4)) : value;
}
