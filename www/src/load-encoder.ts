// Loads an encoder, on the CPU where WebGPU was asked for and cannot be used.
import { type CheckpointSource, type DeviceInfo, Encoder, type LoadOptions } from "simile-web";
import { orOnCpu, withRefusal } from "./device-choice.js";

/** An encoder, and why it is not on WebGPU, if that was asked for. */
export interface Loaded {
  readonly encoder: Encoder;
  readonly refusal: string | undefined;
}

export async function loadEncoder(source: CheckpointSource, options: LoadOptions): Promise<Loaded> {
  const { value: encoder, refusal } = await orOnCpu(options, (attempt) => Encoder.load(source, attempt));
  return { encoder, refusal };
}

/** The device of an encoder, with the reason why it is not the one that was asked for. */
export function deviceOf({ encoder, refusal }: Loaded): DeviceInfo {
  return withRefusal(encoder.device, refusal);
}
