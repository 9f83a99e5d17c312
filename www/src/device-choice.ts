// The device that an address asks for, and the CPU in its place where that is WebGPU and cannot be used.
import type { DeviceChoice, DeviceInfo } from "simile-web";
import { messageOf } from "./words.js";

/** The device among the parameters of an address; `auto` without one, and for one that there is not. */
export function deviceIn(parameters: URLSearchParams): DeviceChoice {
  const requested = parameters.get("device");
  return requested === "webgpu" || requested === "cpu" ? requested : "auto";
}

/** An encoder or a trainer, and why it is not on WebGPU, if that was asked for. */
export interface Placed<T> {
  readonly value: T;
  readonly refusal: string | undefined;
}

/** Creates an encoder or a trainer, on the CPU where WebGPU was asked for and cannot be used. */
export async function orOnCpu<T, O extends { readonly device?: DeviceChoice; readonly signal?: AbortSignal }>(
  options: O,
  create: (options: O) => Promise<T>,
): Promise<Placed<T>> {
  try {
    return { value: await create(options), refusal: undefined };
  } catch (error) {
    if (options.device !== "webgpu" || options.signal?.aborted) throw error;
    // A failure for another reason comes again, and the visitor is told of it.
    return { value: await create({ ...options, device: "cpu" }), refusal: messageOf(error) };
  }
}

/** A device with the reason why it is not the one that was asked for. */
export function withRefusal(device: DeviceInfo, refusal: string | undefined): DeviceInfo {
  return refusal === undefined ? device : { ...device, reason: refusal };
}
