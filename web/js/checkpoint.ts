// The bytes of a checkpoint, from wherever they come.

/** Where a checkpoint can come from. */
export type CheckpointSource = string | URL | Request | Response | Blob | ArrayBuffer | Uint8Array;

/** How much of the checkpoint has arrived. */
export interface Progress {
  readonly loaded: number;
  /** `undefined` where the server does not say. */
  readonly total: number | undefined;
}

/** Reads a checkpoint; the bytes are the caller's own. */
export async function readCheckpoint(
  source: CheckpointSource,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  signal?.throwIfAborted();
  if (source instanceof Uint8Array) return finished(new Uint8Array(source), onProgress);
  if (source instanceof ArrayBuffer) return finished(new Uint8Array(source.slice(0)), onProgress);
  if (source instanceof Blob) return readStream(source.stream(), source.size, onProgress, signal);

  const response = source instanceof Response ? source : await fetch(source, signal ? { signal } : {});
  if (!response.ok) {
    throw new Error(`the checkpoint ${response.url} cannot be fetched: ${response.status} ${response.statusText}`);
  }
  if (!response.body) throw new Error(`the checkpoint ${response.url} is empty`);
  return readStream(response.body, contentLength(response), onProgress, signal);
}

function finished(bytes: Uint8Array<ArrayBuffer>, onProgress: (progress: Progress) => void) {
  onProgress({ loaded: bytes.length, total: bytes.length });
  return bytes;
}

/** The length of what will be read: a compressed body is announced with its compressed length. */
function contentLength(response: Response): number | undefined {
  const length = Number(response.headers.get("content-length"));
  return length > 0 && !response.headers.has("content-encoding") ? length : undefined;
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  total: number | undefined,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let loaded = 0;
  const abort = () => void reader.cancel(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) break;
      chunks.push(value);
      loaded += value.length;
      onProgress({ loaded, total });
    }
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  const bytes = new Uint8Array(loaded);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
