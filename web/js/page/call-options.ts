// The options of one call.
import { checkKeys, inWords, kindOf } from "./options.js";

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

/** The signal among the options of a call. */
export function signalOf(options: CallOptions): AbortSignal | undefined {
  checkKeys("the options of the call", options, { signal: true });
  checkSignal(options.signal);
  return options.signal;
}

/** Throws for a signal that is none, such as the controller that has it. */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || signal === null || kindOf(Object(signal)) === "AbortSignal") return;
  throw new TypeError(`\`signal\` is ${inWords(signal)}, expected an AbortSignal, such as \`controller.signal\``);
}
