import { AutoModel, env, Tensor } from "@huggingface/transformers";
import { expose } from "./page.js";

env.allowRemoteModels = false;
env.allowLocalModels = true;
env.localModelPath = "/hub/";
env.useBrowserCache = false;
env.backends.onnx.wasm.numThreads = 1;
env.backends.onnx.wasm.wasmPaths = "/transformers-runtime/";

expose({
  async open(network, device) {
    const model = await AutoModel.from_pretrained(network, { dtype: "fp32", device: device === "cpu" ? "wasm" : "webgpu" });
    return async (data, dims) => (await model({ pixel_values: new Tensor("float32", data, dims) })).embedding.data;
  },
});
