// The settings of a run: the fields of the form, which an address can fill in.
import { element } from "../element.js";

const FIELDS = ["iterations", "batch", "temperature", "lambda", "seed"] as const;
type Field = (typeof FIELDS)[number];

const inputOf = (field: Field) => element(field, HTMLInputElement);

/** The number in a field; NaN for any other text. A comma is read as a point: the browser's own field of numbers drops it. */
export function numberOf(field: Field): number {
  const text = inputOf(field).value.trim();
  return text === "" ? Number.NaN : Number(text.replace(",", "."));
}

/** Has the browser refuse fractions as it refuses integers, which are in its own fields of numbers. */
export function checkFractions(): void {
  for (const field of FIELDS) inputOf(field).addEventListener("input", () => check(field));
}

function check(field: Field): void {
  const input = inputOf(field);
  const { least, most } = input.dataset;
  if (least === undefined || most === undefined) return;
  const value = numberOf(field);
  const isInRange = value >= Number(least) && value <= Number(most);
  input.setCustomValidity(isInRange ? "" : `Enter a number from ${least} to ${most}.`);
}

/** Applies the settings in an address; returns those that no field takes, as they are written. */
export function follow(parameters: URLSearchParams): string[] {
  return FIELDS.flatMap((field) => {
    const [text, input] = [parameters.get(field), inputOf(field)];
    if (text === null) return [];
    input.value = text;
    check(field);
    // A browser's field of numbers is empty after any other text.
    if (input.value !== "" && input.checkValidity()) return [];
    input.value = input.defaultValue;
    check(field);
    return [`${field}=${text}`];
  });
}

/** The settings for an address. */
export function shared(): Record<Field, string> {
  return Object.fromEntries(FIELDS.map((field) => [field, `${numberOf(field)}`])) as Record<Field, string>;
}
