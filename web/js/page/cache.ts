// Cache of fetched checkpoints by address and version: in the browser's Cache, or in memory where that is refused or
// full.

const NAME = "simile-checkpoints";
const VERSION = "x-simile-version";
const DIGEST = "x-simile-sha256";
/** Largest number of checkpoints in memory. */
const MOST_IN_MEMORY = 4;

/** A cached checkpoint of an address. */
export interface CachedCheckpoint {
  readonly version: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

interface InMemory {
  readonly version: string;
  readonly blob: Blob;
}

const memory = new Map<string, InMemory>();

/** The cached checkpoint of an address, if it is intact. */
export async function recall(address: string): Promise<CachedCheckpoint | undefined> {
  const inMemory = memory.get(address);
  if (inMemory) return { version: inMemory.version, bytes: await bytesOf(inMemory.blob) };
  try {
    const cache = await caches.open(NAME);
    const response = await cache.match(keyOf(address));
    const header = response?.headers.get(VERSION);
    if (!response || !header) return undefined;
    const version = decodeURIComponent(header);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if ((await digestOf(bytes)) === response.headers.get(DIGEST)) return { version, bytes };
    await cache.delete(keyOf(address));
  } catch {
    // The browser refuses the cache to this page.
  }
  return undefined;
}

/** Stores a checkpoint, which replaces the cached one of the same address. */
export async function remember(address: string, version: string, blob: Blob): Promise<void> {
  try {
    // A header trims its value, and takes no letters beyond Latin-1.
    const headers = { [VERSION]: encodeURIComponent(version), [DIGEST]: await digestOf(await bytesOf(blob)) };
    const cache = await caches.open(NAME);
    await cache.put(keyOf(address), new Response(blob, { headers }));
    memory.delete(address);
  } catch {
    memory.delete(address);
    memory.set(address, { version, blob });
    const [oldest] = memory.keys();
    if (memory.size > MOST_IN_MEMORY && oldest !== undefined) memory.delete(oldest);
  }
}

/** Removes all cached checkpoints of this site. */
export async function forgetCheckpoints(): Promise<void> {
  memory.clear();
  try {
    await caches.delete(NAME);
  } catch {
    // The cache is not available, so that it holds nothing.
  }
}

/** The key of the cache: an address of this site that nothing else uses. */
function keyOf(address: string): string {
  return `/${NAME}?${new URLSearchParams({ address })}`;
}

async function bytesOf(blob: Blob): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await blob.arrayBuffer());
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
