import { expose } from "./page.js";

expose({
  async open(network, device) {
    const ort = device === "cpu" ? await import("onnxruntime-web/wasm") : await import("onnxruntime-web/webgpu");
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmPaths = "/onnxruntime/";
    const executionProviders = [device === "cpu" ? "wasm" : "webgpu"];
    const session = await ort.InferenceSession.create(`/models/${network}.onnx`, { executionProviders });
    return async (data, dims) => {
      const { embedding } = await session.run({ pixel_values: new ort.Tensor("float32", data, dims) });
      return embedding.getData();
    };
  },
});
