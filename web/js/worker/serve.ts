// The worker's side of a connection: requests in, replies out.
import type { Call, Reply, Request } from "../shared/protocol.js";
import { Engine } from "./engine.js";

/** Answers the requests that arrive at a port, one after the other; returns a function that stops it. */
export function serve(port: Pick<MessagePort, "postMessage" | "onmessage">): () => void {
  const reply = (message: Reply, transfer: Transferable[] = []) => port.postMessage(message, transfer);
  const engine = new Engine((device) => reply({ device }));
  const cancelled = new Set<number>();
  let last: Promise<void> = Promise.resolve();
  let isOver = false;

  const answer = async ({ id, method, input }: Call): Promise<void> => {
    if (isOver || cancelled.delete(id)) return;
    try {
      const output = await engine.call(method, input, () => isOver || cancelled.has(id));
      if (!cancelled.delete(id)) reply({ id, output }, buffersOf(output));
    } catch (error) {
      if (isOver || cancelled.delete(id)) return;
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      reply({ id, error: { name, message } });
    }
  };

  port.onmessage = ({ data: request }: MessageEvent<Request>) => {
    if ("cancel" in request) cancelled.add(request.cancel);
    else if ("method" in request) last = last.then(() => answer(request));
  };

  return () => {
    port.onmessage = null;
    isOver = true;
    // The request in progress may still use the objects to be freed.
    void last.then(() => engine.free());
  };
}

/**
 * The buffers of the arrays of an output, which are transferred to the page and not copied: each once, also where two names
 * are of one array.
 */
function buffersOf(output: object): Transferable[] {
  const arrays = Object.values(output).filter((value) => ArrayBuffer.isView(value));
  return [...new Set(arrays.map(({ buffer }) => buffer as ArrayBuffer))];
}
