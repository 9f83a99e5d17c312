import { Connection } from "./connection.js";
import { checkInteger } from "./numbers.js";
import type { Digits } from "./protocol.js";

/** Their pixels take 300 MB of WebAssembly's memory, of which there are at most 4 GB. */
const MOST = 100_000;

/** Draws digits with the generator that `fair-digits` trains on: the same seed gives the same images everywhere. */
export async function drawDigits({ count, seed = 0 }: { count: number; seed?: number }): Promise<Digits> {
  checkInteger("count", count, 1, MOST);
  checkInteger("seed", seed, 0);
  const connection = await Connection.open(true);
  try {
    return await connection.call("drawDigits", { count, seed });
  } finally {
    connection.close();
  }
}
