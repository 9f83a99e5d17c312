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

/** Serves `{ name: folder }` at `/name/` and returns the address; `/` is an empty page. */
export async function serve(folders, headers = { "Content-Security-Policy": POLICY }) {
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
    response.setHeader("Content-Type", TYPES[extname(file)] ?? "application/octet-stream");
    response.setHeader("Content-Length", stats.size);
    response.setHeader("Last-Modified", stats.mtime.toUTCString());
    // Parts of a MiB: WebAssembly files have dozens.
    createReadStream(file, { highWaterMark: 1 << 20 }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
