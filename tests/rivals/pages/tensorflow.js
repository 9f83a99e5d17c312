import * as tf from "@tensorflow/tfjs";
import { setThreadsCount, setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import { expose } from "./page.js";

setWasmPaths("/tensorflow/");
setThreadsCount(1);

async function use(device) {
  if (device === "webgpu") await import("@tensorflow/tfjs-backend-webgpu");
  if (!(await tf.setBackend(device === "cpu" ? "wasm" : "webgpu"))) throw new Error(`no ${device}`);
  await tf.ready();
}

function infoNce(a, b) {
  const unit = (x) => x.div(x.square().sum(1, true).sqrt());
  const [x, y] = [unit(a), unit(b)];
  const own = x.mul(y).sum(1).div(0.5);
  return x.matMul(y, false, true).div(0.5).logSumExp(1).sub(own).mean();
}

expose({
  async objective(device) {
    await use(device);
    return (a, b) => async () => {
      const { value, grads } = tf.tidy(() => tf.valueAndGrads(infoNce)([tf.tensor2d(a), tf.tensor2d(b)]));
      const [[loss]] = await Promise.all([value.data(), ...grads.map((gradient) => gradient.data())]);
      tf.dispose([value, ...grads]);
      return { loss };
    };
  },
});
