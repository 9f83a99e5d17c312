// The WebAssembly bundles: the page compiles that of the CPU for all its engines, and each engine fetches that of WebGPU on demand.

let compiling: Promise<WebAssembly.Module> | undefined;

/** The bundle of the CPU, fetched and compiled at the first call; the engines of a page share it. */
export function cpuBundle(): Promise<WebAssembly.Module> {
  if (!compiling) {
    const file = new URL("./cpu.wasm", import.meta.url);
    const begun = loaded(file, compile(file));
    compiling = begun;
    // After a failure the next call tries again.
    begun.catch(() => (compiling = undefined));
  }
  return compiling;
}

/** What loading the file of a bundle gives. A failure names the file, which the browser's message does not. */
export async function loaded<T>(file: URL, loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (cause) {
    const reason = `${file.href} cannot be loaded: ${messageOf(cause)}`;
    throw new Error(`${reason}; it has to be served beside the scripts of simile-web`, { cause });
  }
}

/** The first line of an error, without an unclosed bracket at its end: a chain of causes that repeats the message. */
export function messageOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
  return first.replace(/ \([^)]*$/, "");
}

async function compile(file: URL): Promise<WebAssembly.Module> {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  // Only of this type is a file compiled as it arrives.
  const isTyped = response.headers.get("Content-Type") === "application/wasm";
  return isTyped ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
