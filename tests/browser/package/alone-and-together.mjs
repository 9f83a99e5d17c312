// Embeds images by several networks, one by one and all at once.
// A job: { package, webgpu, device, networks, checkpoint, images }; `networks` has the name of each, and the folder of its files.

export default async function (job, page, serve) {
  await page.goto(await serve({ package: job.package, ...job.networks }));
  return page.evaluate(use, job);
}

/** Runs in the page. */
async function use({ device, networks, checkpoint, images }) {
  const { Encoder } = await import("/package/index.js");
  const results = {};
  for (const name of Object.keys(networks)) {
    const encoder = await Encoder.load(`/${name}/${checkpoint}`, { device });
    const blobs = await Promise.all(images.map(async (image) => (await fetch(`/${name}/${image}`)).blob()));
    const alone = [];
    for (const blob of blobs) alone.push([...(await encoder.embed(blob))]);
    const { data, dims } = await encoder.embedBatch(blobs);
    const together = blobs.map((_, at) => [...data.subarray(at * dims[1], (at + 1) * dims[1])]);
    results[name] = { encoder: encoder.info.encoder, alone, together };
  }
  return results;
}
