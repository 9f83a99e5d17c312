import { Connection } from "./connection.js";
import { checkInteger } from "./numbers.js";
import type { Digits } from "./protocol.js";

/** Draws digits with the generator that `fair-digits` trains on: the same seed gives the same images everywhere. */
export async function drawDigits({ count, seed = 0 }: { count: number; seed?: number }): Promise<Digits> {
  checkInteger("count", count, 1);
  checkInteger("seed", seed, 0);
  const connection = await Connection.open(true);
  try {
    return await connection.call("drawDigits", { count, seed });
  } finally {
    connection.close();
  }
}
