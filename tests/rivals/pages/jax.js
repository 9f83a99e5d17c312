import { defaultDevice, init, jit, nn, numpy as np, valueAndGrad } from "@jax-js/jax";
import { expose } from "./page.js";

async function use(device) {
  const wanted = device === "cpu" ? "wasm" : "webgpu";
  if (!(await init(wanted)).includes(wanted)) throw new Error(`no ${wanted}`);
  defaultDevice(wanted);
}

/** InfoNCE of two views; each use of an array but the last takes a reference. */
function infoNce(a, b) {
  const unit = (x) => x.ref.div(np.sqrt(np.square(x).sum(1, { keepdims: true })));
  const [x, y] = [unit(a), unit(b)];
  const own = x.ref.mul(y.ref).sum(1).div(0.5);
  return nn.logsumexp(np.matmul(x, y.transpose()).div(0.5), 1).sub(own).mean();
}

expose({
  async open(network, device) {
    await use(device);
    const { ONNXModel } = await import("@jax-js/onnx");
    // Its reader of ONNX has no pools, so the model computes the same means by other operations.
    const file = await fetch(`/models/${network}-means.onnx`);
    const model = new ONNXModel(new Uint8Array(await file.arrayBuffer()));
    const run = jit((pixel_values) => model.run({ pixel_values }).embedding);
    return (data, dims) => run(np.array(data).reshape(dims)).data();
  },
  async objective(device) {
    await use(device);
    const run = jit(valueAndGrad(infoNce, { argnums: [0, 1] }));
    return (a, b) => async () => {
      const [loss, [gradA, gradB]] = run(np.array(a), np.array(b));
      const [[value]] = await Promise.all([loss.data(), gradA.data(), gradB.data()]);
      return { loss: value };
    };
  },
});
