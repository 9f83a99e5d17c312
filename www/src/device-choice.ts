// The device that an address asks for, and the CPU in its place where that is WebGPU and cannot be used.
import type { DeviceChoice, DeviceInfo } from "simile-web";
import { messageOf } from "./words.js";

/** The device among the parameters of an address; `auto` without one, and for one that there is not. */
export function deviceIn(parameters: URLSearchParams): DeviceChoice {
  const given = parameters.get("device");
  return given === "webgpu" || given === "cpu" ? given : "auto";
}

/** What computes, and why it is not on WebGPU, if that was asked for. */
export interface Placed<T> {
  readonly made: T;
  readonly refusal: string | undefined;
}

/** Makes what computes, on the CPU where WebGPU was asked for and cannot be used. */
export async function orOnCpu<T, O extends { readonly device?: DeviceChoice; readonly signal?: AbortSignal }>(
  options: O,
  make: (options: O) => Promise<T>,
): Promise<Placed<T>> {
  try {
    return { made: await make(options), refusal: undefined };
  } catch (error) {
    if (options.device !== "webgpu" || options.signal?.aborted) throw error;
    // What fails for another reason fails again, and is then what the visitor is told of.
    return { made: await make({ ...options, device: "cpu" }), refusal: messageOf(error) };
  }
}

/** A device with the reason why it is not the one that was asked for. */
export function withRefusal(device: DeviceInfo, refusal: string | undefined): DeviceInfo {
  return refusal === undefined ? device : { ...device, reason: refusal };
}
