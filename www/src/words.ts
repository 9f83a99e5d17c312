// Words that several pages share.
import type { DeviceInfo, EncoderInfo } from "simile-web";

/** A device as text, with the reason for it. */
export function placeOf({ kind, name, software, reason }: DeviceInfo): string {
  const place = kind === "webgpu" ? `WebGPU: ${name}${software ? ", emulated" : ""}` : `CPU: ${name}`;
  return reason ? `${place} (${reason})` : place;
}

/** An encoder as text: its architecture, and what it takes and gives. */
export function encoderOf(title: string, { encoder, inputSize, embeddingSize }: EncoderInfo): string {
  return `${title}: ${encoder}, ${inputSize.join(" × ")} in, ${embeddingSize} numbers out`;
}

/** The status of a page while WebAssembly loads. */
export const STARTING = "Starting the engine…";

/** The status of a page while an encoder loads, and then while the engine starts. */
export function loadingOf(title: string, loaded: number, total: number | undefined): string {
  if (loaded === total) return STARTING;
  return `Loading ${title}… ${total ? `${Math.round((100 * loaded) / total)} %` : `${Math.round(loaded / 1024)} kB`}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A number of things, as text. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}

/** A number as text, with the minus sign. */
export function withMinus(number: string): string {
  return number.replaceAll("-", "−");
}
