// The status line of a page.
import { element, setText } from "./element.js";

/** Shows a text in the page's status line. */
export function say(text: string, kind: "info" | "error" = "info"): void {
  const status = element("status", HTMLElement);
  status.textContent = text;
  status.dataset["kind"] = kind;
}

/** Says what is wrong with the numbers on the page; the same text is said once. */
export function warn(text: string): void {
  element("status", HTMLElement).dataset["kind"] = "error";
  setText("status", text);
}

/** Ends the wait for an encoder that did not come. */
export function sayNoEncoder(): void {
  setText("device", "No encoder is loaded, and nothing computes.");
  setText("encoder", "none");
}
