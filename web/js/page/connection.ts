// The page's end of a worker: calls by name, answers by number.
import { bundle, WITHOUT_NETWORK } from "../shared/bundle.js";
import type { BundleName, DeviceInfo, Method, Methods, Reply, Request } from "../shared/protocol.js";

/** The common interface of a worker and a message port. */
interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<Reply>) => unknown) | null;
}

interface Pending {
  resolve(output: never): void;
  reject(error: unknown): void;
}

/** The signal of a call, and the buffers that it transfers. */
export interface SendOptions {
  readonly signal?: AbortSignal | undefined;
  readonly transfer?: Transferable[];
}

/** The reason where a worker fails without a message, with the remedies. */
const UNLOADED =
  `its script cannot be loaded; ${WITHOUT_NETWORK}; if the page is yours, worker.js has to be served beside the other scripts ` +
  'of simile-web, for which Vite\'s server before version 8 needs optimizeDeps: { exclude: ["simile-web"] }';

export class Connection {
  /** Called whenever the engine moves to another device. */
  onDevice: (device: DeviceInfo) => void = () => {};

  readonly #pending = new Map<number, Pending>();
  #next = 0;
  /** The error of all further calls, once the worker has failed or is closed. */
  #failure: Error | undefined;

  private constructor(
    private readonly port: Port,
    private readonly stop: () => void,
  ) {
    port.onmessage = (event) => this.#receive(event.data);
  }

  /** Starts an engine in a new worker, or in this thread. */
  static async open({ worker }: { readonly worker: boolean }): Promise<Connection> {
    // Its download starts before the worker does. A failure is reported to those who await the bundle.
    bundle("cpu").catch(() => {});
    return worker ? Connection.#toWorker() : Connection.#toThisThread();
  }

  static #toWorker(): Connection {
    const worker = startWorker();
    const connection = new Connection(worker, () => worker.terminate());
    worker.onerror = (event) => {
      connection.#fail(new Error(`the worker of simile-web stopped: ${event.message || UNLOADED}`));
    };
    return connection;
  }

  static async #toThisThread(): Promise<Connection> {
    const { serve } = await import("../worker/serve.js");
    const { port1, port2 } = new MessageChannel();
    const end = serve(port2);
    return new Connection(port1, () => {
      port1.close();
      end();
    });
  }

  /** Calls a method. Calls run one after the other, in the order in which they were made. */
  call<M extends Method>(
    method: M,
    input: Methods[M]["input"],
    { signal, transfer = [] }: SendOptions = {},
  ): Promise<Methods[M]["output"]> {
    return new Promise((resolve, reject) => {
      if (this.#failure) {
        reject(this.#failure);
        return;
      }
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const id = this.#next++;
      // Where an input cannot be sent this throws, and nothing waits for an answer.
      this.#send({ id, method, input }, transfer);
      const abort = () => {
        this.#pending.delete(id);
        this.#send({ cancel: id }, []);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#pending.set(id, {
        resolve: (output) => {
          signal?.removeEventListener("abort", abort);
          resolve(output);
        },
        reject: (error) => {
          signal?.removeEventListener("abort", abort);
          reject(error);
        },
      });
    });
  }

  /** Stops the engine and frees its memory; calls that wait are rejected. */
  close(): void {
    this.#fail(new Error("this object was disposed"));
  }

  #send(request: Request, transfer: Transferable[]): void {
    this.port.postMessage(request, transfer);
  }

  #receive(reply: Reply): void {
    if ("device" in reply) {
      this.onDevice(reply.device);
      return;
    }
    if ("wanted" in reply) {
      void this.#give(reply.wanted);
      return;
    }
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if ("error" in reply) {
      const error = new Error(reply.error.message);
      error.name = reply.error.name;
      pending?.reject(error);
    } else {
      pending?.resolve(reply.output as never);
    }
  }

  async #give(name: BundleName): Promise<void> {
    const answer = await bundle(name).then(
      (compiled) => ({ bundle: name, compiled }),
      (error: Error) => ({ bundle: name, error: error.message }),
    );
    this.#send(answer, []);
  }

  #fail(error: Error): void {
    if (this.#failure) return;
    this.#failure = error;
    this.stop();
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

/** The device that computes at the other end of a connection. */
export class CurrentDevice {
  #info: DeviceInfo;

  /** Starts with the device on which the engine was opened, and follows its moves. */
  constructor(connection: Connection, opened: DeviceInfo, onDevice: ((device: DeviceInfo) => void) | undefined) {
    this.#info = opened;
    connection.onDevice = (device) => {
      this.#info = device;
      onDevice?.(device);
    };
  }

  get info(): DeviceInfo {
    return this.#info;
  }
}

/** The address of a script that imports the worker from another origin. All workers share it: no event says when one has read it. */
let importing: string | undefined;

function startWorker(): Worker {
  try {
    // Bundlers recognise only this exact expression. The package has the worker beside this script.
    return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "SecurityError")) throw error;
    // A worker cannot be started from another origin, such as a CDN, but it can import from there.
    const address = import.meta.url.replace(/[^/]*$/, "worker.js");
    importing ??= URL.createObjectURL(new Blob([`import ${JSON.stringify(address)};`], { type: "text/javascript" }));
    return new Worker(importing, { type: "module" });
  }
}
