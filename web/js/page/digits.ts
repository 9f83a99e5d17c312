import type { Digits } from "../shared/protocol.js";
import { Connection } from "./connection.js";
import { checkInteger, checkKeys, MOST_DIGITS } from "./options.js";

/** Options of `drawDigits`. */
interface DrawOptions {
  /** From 1 to 100,000. */
  readonly count: number;
  /** Default: 0. */
  readonly seed?: number;
}

const OPTIONS = { count: true, seed: true } satisfies Record<keyof DrawOptions, true>;

/** Draws digits with the generator that `fair-digits` trains on: the same seed gives the same images everywhere. */
export async function drawDigits(options: DrawOptions): Promise<Digits> {
  checkKeys("the options of drawDigits", options, OPTIONS);
  const { count, seed = 0 } = options;
  checkInteger("count", count, 1, MOST_DIGITS);
  checkInteger("seed", seed, 0);
  const connection = await Connection.open({ worker: true });
  try {
    return await connection.call("drawDigits", { count, seed });
  } finally {
    connection.close();
  }
}
