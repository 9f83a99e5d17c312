// Checks of numbers that a page gives, and that core would take for others.

/** Throws unless a number is an integer in a range: WebAssembly takes 1.5 for 1, and -1 for 4294967295. */
export function checkInteger(name: string, value: number, least: number, most = 0xffff_ffff): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is ${value}, expected an integer from ${least} to ${most}`);
  }
}

/** Throws for a number that is not finite: JSON has `null` for it, by which some parameters mean a default. */
export function checkFinite(parameters: object): void {
  JSON.stringify(parameters, (name, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new RangeError(`\`${name}\` is ${value}, expected a finite number`);
    }
    return value;
  });
}
