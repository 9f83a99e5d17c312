// Samples as a short text, for an address: coordinates as 16-bit integers, in the alphabet of base64url.
import { unit } from "./rows.js";
import type { Draw, Samples } from "./samples.js";

const SCALE = 32767;

export function pack({ views, hues }: Samples): string {
  const numbers = [
    ...views.flat(2).map((value) => Math.round(value * SCALE)),
    ...hues.map((hue) => Math.round(hue * SCALE)),
  ];
  const bytes = new Uint8Array(Int16Array.from(numbers).buffer);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** The samples, or `undefined` if the text does not hold as many as were drawn. */
export function unpack(text: string, { count, dims }: Draw): Samples | undefined {
  const numbers = decode(text);
  if (numbers?.length !== count * (2 * dims + 1)) return undefined;
  const row = (at: number) => unit(numbers.slice(at * dims, (at + 1) * dims));
  const view = (first: number) => Array.from({ length: count }, (_, at) => row(first + at));
  const hues = numbers.slice(2 * count * dims).map((hue) => Math.min(Math.max(hue, 0), 1));
  return { views: [view(0), view(count)], hues };
}

function decode(text: string): number[] | undefined {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
      letter.charCodeAt(0),
    );
    return bytes.length % 2 ? undefined : Array.from(new Int16Array(bytes.buffer), (value) => value / SCALE);
  } catch {
    return undefined;
  }
}
