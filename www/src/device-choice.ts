// The device that an address asks for.
import type { DeviceChoice } from "simile-web";

/** The device among the parameters of an address; `auto` without one, and for one that there is not. */
export function deviceIn(parameters: URLSearchParams): DeviceChoice {
  const given = parameters.get("device");
  return given === "webgpu" || given === "cpu" ? given : "auto";
}
