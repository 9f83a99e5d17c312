// The WebAssembly bundles: a page fetches and compiles each of them once, for itself and for its workers.
import { messageOf } from "./errors.js";
import type { BundleName } from "./protocol.js";

/** Where this thread has its bundles from. */
type Source = (name: BundleName) => Promise<WebAssembly.Module>;

let source: Source = load;
const compiling = new Map<BundleName, Promise<WebAssembly.Module>>();

/** A bundle, compiled at the first call; the engines of a page share it. */
export function bundle(name: BundleName): Promise<WebAssembly.Module> {
  let begun = compiling.get(name);
  if (!begun) {
    begun = source(name);
    compiling.set(name, begun);
    // After a failure the next call tries again.
    begun.catch(() => compiling.delete(name));
  }
  return begun;
}

/** The remedy for a visitor where a file of the package does not come. */
export const WITHOUT_NETWORK = "if the network was lost, reload the page once it is back";

/** Has this thread take its bundles from elsewhere. */
export function takeBundlesFrom(other: Source): void {
  source = other;
}

/** The smallest module with an operation of SIMD. */
const SIMD = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
);

/** Throws in a browser that cannot run the bundles. */
function checkBrowser(): void {
  const remedy = "take a current version of Chrome, Edge, Firefox or Safari";
  if (typeof WebAssembly === "undefined") {
    throw new Error(`this browser has no WebAssembly, or it is switched off; switch it on, or ${remedy}`);
  }
  if (!WebAssembly.validate(SIMD)) {
    throw new Error(`the WebAssembly of this browser has no SIMD, which simile-web computes with; ${remedy}`);
  }
}

/** Fetches and compiles a bundle. A failure names the file, which the browser's message does not. */
async function load(name: BundleName): Promise<WebAssembly.Module> {
  checkBrowser();
  // Bundlers recognise only these exact expressions. The package has the files beside its scripts.
  const file = name === "cpu" ? new URL("./cpu.wasm", import.meta.url) : new URL("./webgpu.wasm", import.meta.url);
  try {
    return await compile(file);
  } catch (cause) {
    const reason = `${file.href} cannot be loaded: ${messageOf(cause)}`;
    const remedy = `${WITHOUT_NETWORK}; if the page is yours, the file has to be served beside the scripts of simile-web`;
    throw new Error(`${reason}; ${remedy}`, { cause });
  }
}

async function compile(file: URL): Promise<WebAssembly.Module> {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  // Only of this type is a file compiled as it arrives.
  const isTyped = response.headers.get("Content-Type") === "application/wasm";
  return isTyped ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
