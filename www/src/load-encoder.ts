// Loads an encoder, on the CPU where WebGPU was asked for and cannot be used.
import { type CheckpointSource, type DeviceInfo, Encoder, type LoadOptions } from "simile-web";
import { messageOf } from "./words.js";

/** An encoder, and why it is not on WebGPU, if that was asked for. */
export interface Loaded {
  readonly encoder: Encoder;
  readonly refusal: string | undefined;
}

export async function loadEncoder(source: CheckpointSource, options: LoadOptions): Promise<Loaded> {
  try {
    return { encoder: await Encoder.load(source, options), refusal: undefined };
  } catch (error) {
    if (options.device !== "webgpu" || options.signal?.aborted) throw error;
    // A file that cannot be used fails again, and is then what the visitor is told of.
    const encoder = await Encoder.load(source, { ...options, device: "cpu" });
    return { encoder, refusal: messageOf(error) };
  }
}

/** The device of an encoder, with the reason why it is not the one that was asked for. */
export function deviceOf({ encoder: { device }, refusal }: Loaded): DeviceInfo {
  return refusal === undefined ? device : { ...device, reason: refusal };
}
