// Errors in words.

/** The first line of an error, without an unclosed bracket at its end: a chain of causes that repeats the message. */
export function messageOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
  return first.replace(/ \([^)]*$/, "");
}
