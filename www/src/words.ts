// What pages say in the same words.
import type { DeviceInfo } from "simile-web";
import { element } from "./element.js";

/** A device, and why it is this one. */
export function placeOf({ kind, name, software, reason }: DeviceInfo): string {
  const place = kind === "webgpu" ? `WebGPU: ${name}${software ? ", emulated" : ""}` : `CPU: ${name}`;
  return reason ? `${place} (${reason})` : place;
}

/** How much of something has arrived. */
export function amount(loaded: number, total: number | undefined): string {
  return total ? `${Math.round((100 * loaded) / total)} %` : `${Math.round(loaded / 1024)} kB`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Says something in the page's status line. */
export function say(text: string, kind: "info" | "error" = "info"): void {
  const status = element("status", HTMLElement);
  status.textContent = text;
  status.dataset["kind"] = kind;
}
