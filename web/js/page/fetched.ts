// Fetches files by the addresses that a page gives.
import { messageOf } from "../shared/errors.js";

/** The answer of a server. A failure names the address, because browsers say no more than that a fetch failed. */
export async function fetched(what: string, source: string | URL | Request, init: RequestInit): Promise<Response> {
  try {
    return await fetch(source, init);
  } catch (cause) {
    init.signal?.throwIfAborted();
    if (source instanceof Request) source.signal.throwIfAborted();
    const address = source instanceof Request ? source.url : `${source}`;
    const remedy = "its server has to be in reach and, if it is not that of the page, to allow the page by CORS";
    throw new Error(`the ${what} ${address} cannot be fetched: ${messageOf(cause)}; ${remedy}`, { cause });
  }
}
