// The loss lab in the worker.
import type { DeviceChoice, DeviceInfo, Methods } from "../shared/protocol.js";
import * as cpu from "../generated/cpu.js";
import * as webgpu from "../generated/webgpu.js";
import { checkAgreement, type Gpu } from "./gpu.js";
import { type Movable, Placement } from "./placement.js";

type Views = Methods["differentiate"]["input"];
type Gradients = Methods["differentiate"]["output"];

/** Evaluates JSON documents, or arrays of numbers, on one device. */
interface Evaluator {
  evaluate(document: string): Promise<string>;
  forces(document: string): Promise<string>;
  differentiate(views: Views): Promise<Gradients>;
  free(): void;
}

/** The case of the self-test of WebGPU, whose loss has to agree with the CPU. */
const TEST = JSON.stringify({
  objective: "info-nce",
  inputs: { view_a: [[1, 0], [0, 1]], view_b: [[0.8, 0.6], [0.6, -0.8]] },
});

export class Evaluating implements Movable<Evaluator> {
  readonly onCpu = evaluatorOf(cpu, cpu.Device.cpu());
  readonly #placement: Placement<Evaluator>;

  constructor(onDevice: (device: DeviceInfo) => void) {
    this.#placement = new Placement(this, onDevice);
  }

  choose(choice: DeviceChoice): Promise<DeviceInfo> {
    // A batch of points is too small for a GPU to gain anything.
    return this.#placement.choose(choice, "if-asked");
  }

  evaluate(document: string): Promise<string> {
    return this.#placement.run((evaluator) => evaluator.evaluate(document));
  }

  forces(document: string): Promise<string> {
    return this.#placement.run((evaluator) => evaluator.forces(document));
  }

  differentiate(views: Views): Promise<Gradients> {
    return this.#placement.run((evaluator) => evaluator.differentiate(views));
  }

  free(): void {
    this.#placement.free();
  }

  async putOn({ device, info }: Gpu): Promise<Evaluator> {
    const evaluator = evaluatorOf(webgpu, device);
    checkAgreement(info, [await lossOf(this.onCpu)], [await lossOf(evaluator)]);
    return evaluator;
  }
}

/** The functions that both bundles share. */
interface Bundle<Device> {
  evaluate(document: string, device: Device): Promise<string>;
  forces(document: string, device: Device): Promise<string>;
  differentiate(
    document: string,
    viewA: Float32Array,
    viewB: Float32Array,
    columns: number,
    device: Device,
  ): Promise<cpu.LossAndGradients | webgpu.LossAndGradients>;
}

/** The evaluator of a bundle on one of its devices. */
function evaluatorOf<Device>(bundle: Bundle<Device>, device: Device): Evaluator {
  return {
    evaluate: (document) => bundle.evaluate(document, device),
    forces: (document) => bundle.forces(document, device),
    async differentiate({ document, viewA, viewB }) {
      const differentiated = await bundle.differentiate(document, viewA.data, viewB.data, viewA.dims[1], device);
      const { loss, by_a: gradA, by_b: gradB } = differentiated;
      differentiated.free();
      return { loss, gradA, gradB };
    },
    // There is no state between two calls.
    free() {},
  };
}

async function lossOf(evaluator: Evaluator): Promise<number> {
  return (JSON.parse(await evaluator.evaluate(TEST)) as { loss: number }).loss;
}
