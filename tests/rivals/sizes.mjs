// How large files are when they are sent: compressed as well as gzip and brotli can.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** The sums over some files. Sizes are kept in a file of their own: brotli takes a minute for 27 MB. */
export async function sizesOf(files, kept) {
  const known = JSON.parse(await readFile(kept, "utf8").catch(() => "{}"));
  const total = { gzip: 0, brotli: 0 };
  for (const file of files) {
    const bytes = await readFile(file);
    const digest = createHash("sha256").update(bytes).digest("hex");
    known[digest] ??= {
      gzip: gzipSync(bytes, { level: 9 }).length,
      brotli: brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length,
    };
    total.gzip += known[digest].gzip;
    total.brotli += known[digest].brotli;
  }
  await writeFile(kept, JSON.stringify(known));
  return total;
}
