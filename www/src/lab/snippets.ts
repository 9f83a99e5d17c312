// The chosen setting as code in several languages.
import type { Setting } from "simile-web";
import type { Offered } from "./catalogue.js";
import { CLASSES } from "./samples.js";

export type Language = "rust" | "recipe" | "torch";

/** A setting as code, or `undefined` where there is no tested code for it. */
export function snippetOf(language: Language, setting: Setting, entry: Offered): string | undefined {
  if (language === "rust") return rust(setting, entry);
  if (language === "recipe") return recipe(setting, entry);
  return torch(setting, entry);
}

/** The parameters that stand in the formula as a symbol, and those that differ from their defaults. */
function parametersOf({ kernel, params = {} }: Setting, { parameterDetails }: Offered): Record<string, unknown> {
  const written = parameterDetails.filter(
    ({ name, symbol, default: byDefault }) => name in params && (symbol !== undefined || params[name] !== byDefault),
  );
  const values = Object.fromEntries(written.map(({ name }) => [name, params[name]]));
  return { ...(kernel !== undefined && { kernel }), ...values };
}

function rust(setting: Setting, entry: Offered): string {
  const variant = setting.variant ? `Some("${setting.variant}")` : "None";
  const parts = entry.inputDetails.map(
    ({ name, kind }) => `.${kind === "host" ? "with_condition" : "with_indices"}("${name}", ${name})`,
  );
  const parameters = JSON.stringify(parametersOf(setting, entry), tidy, 4).replaceAll("\n", "\n    ");
  return `use simile_core::loss;
use simile_core::loss::batch::Batch;

let objective = loss::build(
    "${setting.objective}",
    ${variant},
    serde_json::json!(${parameters}),
)?;
let batch = Batch::views(view_a, view_b)${parts.join("")};
let loss = loss::loss(objective.as_ref(), &batch)?;
`;
}

/** The source that core has, and a call with the setting. */
function torch(setting: Setting, entry: Offered): string | undefined {
  if (entry.pytorch === null) return undefined;
  const { variant } = setting;
  const parameters = Object.entries({ ...parametersOf(setting, entry), ...(variant && { variant }) });
  // `lambda` is a keyword of Python.
  const named = parameters.map(([name, value]) => `${name === "lambda" ? "lambda_" : name}=${python(value)}`);
  const call = [...["view_a", "view_b", ...entry.inputs], ...named].join(", ");
  return `${entry.pytorch}\n\nloss = ${entry.name.replaceAll("-", "_")}(${call})\n`;
}

function python(value: unknown): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object" || value === null) return JSON.stringify(tidy("", value));
  const entries = Object.entries(value).map(([name, inner]) => `"${name}": ${python(inner)}`);
  return `{${entries.join(", ")}}`;
}

/** A variant of a recipe; its data set has to have the variables that are named here. */
function recipe(setting: Setting, entry: Offered): string {
  const { title, inputs, hasClusters } = entry;
  const lines = [
    ...(inputs.includes("labels") && !hasClusters ? ["# The labels are the classes of the data set."] : []),
    "[[variant]]",
    `name = "${title}"`,
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
