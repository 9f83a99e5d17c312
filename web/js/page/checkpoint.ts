// Reads the bytes of a checkpoint from any source.
import { joined } from "../shared/bytes.js";
import { recall, remember } from "./cache.js";
import { fetched } from "./fetched.js";
import { inWords } from "./options.js";

/** The possible sources of a checkpoint. */
export type CheckpointSource = string | URL | Request | Response | Blob | ArrayBuffer | Uint8Array;

/** Throws unless a checkpoint can be read from a source. */
export function checkSource(source: CheckpointSource): void {
  const known = [URL, Request, Response, Blob, ArrayBuffer, Uint8Array];
  if (typeof source === "string" || known.some((kind) => source instanceof kind)) return;
  const expected = "an address, a Request, a Response, a Blob, an ArrayBuffer or a Uint8Array";
  throw new TypeError(`the checkpoint is ${inWords(source)}, expected ${expected}`);
}

/** The number of bytes of the checkpoint that have arrived. */
export interface Progress {
  readonly loaded: number;
  /** `undefined` where the server does not send the length, or more bytes arrive than it announced: the file was compressed. */
  readonly total: number | undefined;
}

/** Options for reading a checkpoint. */
export interface ReadOptions {
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal | undefined;
  /** True if a checkpoint of an address is cached. */
  readonly cache: boolean;
  /** The version of the checkpoint at an address; without it the version that the server reports. */
  readonly version: string | undefined;
}

/** A checkpoint that was read. */
export interface LoadedBytes {
  /** Owned by the caller. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * Caches the checkpoint, for the caller to call once the checkpoint has proved valid; absent if it is cached already.
   */
  readonly keep?: () => Promise<void>;
}

/** Reads a checkpoint from its source. */
export async function readCheckpoint(source: CheckpointSource, options: ReadOptions): Promise<LoadedBytes> {
  const { onProgress, signal } = options;
  signal?.throwIfAborted();
  if (source instanceof Uint8Array) return finished(new Uint8Array(source), onProgress);
  if (source instanceof ArrayBuffer) return finished(new Uint8Array(source.slice(0)), onProgress);
  if (source instanceof Blob) return { bytes: await readStream(source.stream(), source.size, options) };
  if (source instanceof Response || source instanceof Request || !options.cache) {
    return { bytes: await readResponse(source instanceof Response ? source : await get(source, signal), options) };
  }
  const base = typeof document === "undefined" ? location.href : document.baseURI;
  return readAddress(new URL(source, base).href, options);
}

/** Reads the checkpoint at an address, from the cache where that holds the same version. */
async function readAddress(address: string, options: ReadOptions): Promise<LoadedBytes> {
  const { onProgress, signal } = options;
  const entry = await recall(address);
  if (entry && (await isCurrent(address, entry.version, options))) return finished(entry.bytes, onProgress);
  // The HTTP cache of the browser may hold an older version, and is revalidated.
  const mayBeOlder = entry !== undefined || options.version !== undefined;
  let response: Response;
  try {
    response = await get(address, signal, mayBeOlder ? "no-cache" : "default");
  } catch (error) {
    signal?.throwIfAborted();
    // Offline, the kept copy is used, unless another version is asked for.
    if (entry && options.version === undefined) return finished(entry.bytes, onProgress);
    throw error;
  }
  const version = options.version ?? versionOf(response);
  if (entry && version === entry.version) {
    await response.body?.cancel();
    return finished(entry.bytes, onProgress);
  }
  const bytes = await readResponse(response, options);
  if (!version) return { bytes };
  // A copy, because the bytes are handed over.
  const blob = new Blob([bytes]);
  return { bytes, keep: () => remember(address, version, blob) };
}

/** True if the cached version is the wanted one, as far as the server says without sending the file. */
async function isCurrent(address: string, cachedVersion: string, { version, signal }: ReadOptions): Promise<boolean> {
  if (version !== undefined) return version === cachedVersion;
  try {
    const response = await fetch(address, { method: "HEAD", cache: "no-cache", ...(signal && { signal }) });
    return versionOf(response) === cachedVersion;
  } catch {
    signal?.throwIfAborted();
    // A server may allow another site's page to get the file, and nothing else.
    return false;
  }
}

/** The version that the server reports: the ETag of the content, or its date. */
function versionOf({ ok, headers }: Response): string | undefined {
  return (ok ? (headers.get("etag") ?? headers.get("last-modified")) : undefined) ?? undefined;
}

/** Without a `cache` that of the request counts. */
async function get(
  source: string | URL | Request,
  signal: AbortSignal | undefined,
  cache?: RequestCache,
): Promise<Response> {
  return fetched("checkpoint", source, { ...(cache && { cache }), ...(signal && { signal }) });
}

async function readResponse(response: Response, options: ReadOptions): Promise<Uint8Array<ArrayBuffer>> {
  if (!response.ok) {
    throw new Error(`the checkpoint ${response.url} cannot be fetched: ${response.status} ${response.statusText}`);
  }
  if (!response.body) throw new Error(`the checkpoint ${response.url} is empty`);
  return readStream(response.body, contentLength(response), options);
}

function finished(bytes: Uint8Array<ArrayBuffer>, onProgress: (progress: Progress) => void): LoadedBytes {
  onProgress({ loaded: bytes.length, total: bytes.length });
  return { bytes };
}

/** The length of the decoded body; `undefined` for a compressed one, which is announced with its compressed length. */
function contentLength(response: Response): number | undefined {
  const length = Number(response.headers.get("content-length"));
  return length > 0 && !response.headers.has("content-encoding") ? length : undefined;
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  total: number | undefined,
  { onProgress, signal }: Pick<ReadOptions, "onProgress" | "signal">,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let loaded = 0;
  // A body that the same signal ends has failed by now, and cannot be cancelled; the reader is told in either case.
  const abort = () => void reader.cancel(signal?.reason).catch(() => {});
  signal?.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) break;
      chunks.push(value);
      loaded += value.length;
      // Another site may compress the file without telling the page, which then knows the compressed length alone.
      onProgress({ loaded, total: total !== undefined && loaded > total ? undefined : total });
    }
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  return joined(chunks, (length) => new Uint8Array(length));
}
