// Entry of the worker. Its bundles come from the page, which fetches and compiles each once for all of its workers.
import { takeBundlesFrom } from "../shared/bundle.js";
import type { BundleName, Reply, Request } from "../shared/protocol.js";
import { serve } from "./serve.js";

const page = self as unknown as MessagePort;

function fromPage(name: BundleName): Promise<WebAssembly.Module> {
  return new Promise((resolve, reject) => {
    const receive = ({ data }: MessageEvent<Request>) => {
      if (!("bundle" in data) || data.bundle !== name) return;
      page.removeEventListener("message", receive);
      if ("compiled" in data) resolve(data.compiled);
      else reject(new Error(data.error));
    };
    page.addEventListener("message", receive);
    page.postMessage({ wanted: name } satisfies Reply);
  });
}

takeBundlesFrom(fromPage);
serve(page);
