/** Concatenates arrays into the one that `create` makes of their length. */
export function joined<Part extends ArrayLike<number>, Whole extends { set(part: Part, at: number): void }>(
  parts: readonly Part[],
  create: (length: number) => Whole,
): Whole {
  const whole = create(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
