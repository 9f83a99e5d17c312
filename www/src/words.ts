// Texts that several pages share.
import type { DeviceInfo, EncoderInfo } from "simile-web";
import { element, setText } from "./element.js";

/** A device as text, with the reason for it. */
export function placeOf({ kind, name, software, reason }: DeviceInfo): string {
  const place = kind === "webgpu" ? `WebGPU: ${name}${software ? ", emulated" : ""}` : `CPU: ${name}`;
  return reason ? `${place} (${reason})` : place;
}

/** An encoder as text: its architecture, and what it takes and gives. */
export function encoderOf(title: string, { encoder, inputSize, embeddingSize }: EncoderInfo): string {
  return `${title}: ${encoder}, ${inputSize.join(" × ")} in, ${embeddingSize} numbers out`;
}

/** The received amount of a download, as text. */
export function amount(loaded: number, total: number | undefined): string {
  return total ? `${Math.round((100 * loaded) / total)} %` : `${Math.round(loaded / 1024)} kB`;
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

/** Ends the wait for an encoder that did not come. */
export function sayNoEncoder(): void {
  setText("device", "No encoder is loaded, and nothing computes.");
  setText("encoder", "none");
}

/** Shows a text in the page's status line. */
export function say(text: string, kind: "info" | "error" = "info"): void {
  const status = element("status", HTMLElement);
  status.textContent = text;
  status.dataset["kind"] = kind;
}
