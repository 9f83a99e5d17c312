import { expose } from "./page.js";

// The package as it is published: no bundler.
const { Encoder, LossLab } = await import("/package/index.js");

expose({
  async open(network, device) {
    const encoder = await Encoder.load(`/models/${network}.safetensors`, { device, cache: false });
    return async (data, dims) => (await encoder.embedBatch({ data, dims })).data;
  },
  async objective(device) {
    const lab = await LossLab.create({ objective: "info-nce", temperature: 0.5, device });
    return (a, b) => () => lab.evaluate(a, b);
  },
});
