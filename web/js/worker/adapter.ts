// Finds the adapter of WebGPU before a bundle of megabytes is fetched for it.
import { messageOf } from "../shared/errors.js";

/** A WebGPU adapter, as far as a page may know it. */
export interface Adapter {
  readonly name: string;
  /** True if it is emulated on the CPU, where WebAssembly is quicker. */
  readonly software: boolean;
}

/** The adapter that the browser prefers, or the reason why there is none. */
export async function findAdapter(): Promise<Adapter | { readonly missing: string }> {
  if (!("gpu" in navigator) || !navigator.gpu) return { missing: "this browser has no WebGPU" };
  const asked = navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  const refusal = (error: unknown) => ({ missing: `this browser refuses WebGPU: ${messageOf(error)}` });
  const adapter = await asked.catch(refusal);
  if (adapter && "missing" in adapter) return adapter;
  if (!adapter) return { missing: "this browser offers no WebGPU adapter" };
  // The WebGPU bundle reads `info`, and without it would never answer.
  if (!adapter.info) return { missing: "this browser does not describe its WebGPU adapter, as newer ones do" };
  // Browsers differ in the fields.
  const info: Partial<GPUAdapterInfo> = adapter.info;
  const { vendor, architecture = "", device, description = "", isFallbackAdapter = false } = info;
  const software = isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|softpipe|warp/i.test(`${architecture} ${description}`);
  const name = description || [vendor, architecture, device].filter(Boolean).join(" ") || "unnamed adapter";
  return { name, software };
}
