import { expose } from "./page.js";

// The package as it is published: no bundler.
const { Encoder, LossLab, Trainer } = await import("/package/index.js");

expose({
  async open(network, device) {
    const encoder = await Encoder.load(`/models/${network}.safetensors`, { device, cache: false });
    return async (data, dims) => (await encoder.embedBatch({ data, dims })).data;
  },
  async objective(device) {
    const lab = await LossLab.create({ objective: "info-nce", temperature: 0.5, device });
    const vectors = (rows) => ({ data: Float32Array.from(rows.flat()), dims: [rows.length, rows[0].length] });
    return (a, b) => {
      const views = [vectors(a), vectors(b)];
      return () => lab.differentiate(...views);
    };
  },
  /** Views a second that a LeNet-5 learns from. */
  async train(device, steps) {
    const [batch, warmUp] = [256, 5];
    const objective = { objective: "nt-xent", temperature: 0.5 };
    const trainer = await Trainer.create({ ...objective, device, batch, iterations: warmUp + steps, images: 4096 });
    await trainer.step(warmUp);
    const begun = performance.now();
    await trainer.step(steps);
    return (2 * batch * steps) / ((performance.now() - begun) / 1000);
  },
});
