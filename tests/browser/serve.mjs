// A static file server: the first part of a path names one of the folders.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** As strict as a page can ask for: no inline script, no eval, WebAssembly only. */
const POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; object-src 'none'";

/**
 * Takes from a page, or from a worker, what older browsers do not have. `Symbol.dispose` cannot be deleted: another `Symbol`
 * lacks it.
 */
export const OLDER = `
delete globalThis.PointerEvent?.prototype.getCoalescedEvents;
if (Symbol.dispose) {
  const { Symbol: own } = globalThis;
  const { dispose, asyncDispose, ...others } = Object.getOwnPropertyDescriptors(own);
  globalThis.Symbol = Object.defineProperties((text) => own(text), others);
}
`;

/**
 * Serves `{ name: folder }` at `/name/` and returns the address; `/` is an empty page. Every script begins with `prelude`,
 * those of workers too, which no script of a page's test reaches.
 */
export async function serve(folders, headers = { "Content-Security-Policy": POLICY }, prelude = "") {
  const server = createServer(async ({ url = "/" }, response) => {
    const path = normalize(decodeURIComponent(url.split("?")[0]));
    const [, name, ...rest] = path.split("/");
    for (const [header, value] of Object.entries(headers)) response.setHeader(header, value);
    if (path === "/") {
      response.setHeader("Content-Type", "text/html");
      response.end("<!doctype html><title>test</title><link rel='icon' href='data:,'>");
      return;
    }
    const folder = folders[name];
    const file = folder && join(folder, ...rest, path.endsWith("/") ? "index.html" : "");
    const stats = file && (await stat(file).catch(() => undefined));
    if (!stats?.isFile()) {
      response.statusCode = 404;
      response.end();
      return;
    }
    const before = extname(file) === ".js" ? Buffer.from(prelude) : Buffer.alloc(0);
    response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
    response.setHeader("Content-Length", before.length + stats.size);
    response.setHeader("Last-Modified", stats.mtime.toUTCString());
    if (before.length > 0) response.write(before);
    // Parts of a MiB: WebAssembly files have dozens.
    createReadStream(file, { highWaterMark: 1 << 20 }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
