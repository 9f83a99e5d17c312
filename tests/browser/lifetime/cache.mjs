// Copies of checkpoints that the page keeps.
// A job: { package, data, device, checkpoint }; `data` is the folder of the checkpoint.
import assert from "node:assert/strict";

export default async function (job, page, serve) {
  await page.goto(await serve({ package: job.package, data: job.data }));
  const read = await page.evaluate(change, job);
  assert.deepEqual(read, ["one", "two"], "a changed file is read once where no HEAD is answered, and offline none is");
  const requests = [];
  page.on("request", (request) => {
    if (request.url().includes("safetensors")) requests.push(request.method());
  });
  const { kept, entries } = await page.evaluate(keep, job);
  // First load of a version: GET. Second load: none. Each other version: GET. The server's own version: HEAD and GET, then HEAD
  // alone. Without the cache, damaged in the cache, and in memory without a cache: GET each.
  assert.equal(requests.join(" "), "GET GET GET GET HEAD GET HEAD GET GET GET");
  assert.equal(kept, "版", "a version beyond Latin-1 is kept in memory alone");
  assert.equal(entries, 0);
}

/**
 * Which file counts after that of a server has changed which answers no HEAD, as a bucket whose CORS allows GET alone; and offline.
 * Runs in the page.
 */
async function change({ device, checkpoint }) {
  const { Encoder, forgetCheckpoints } = await import("/package/index.js");
  await forgetCheckpoints();
  const send = window.fetch;
  const file = new Uint8Array(await (await send(`/data/${checkpoint}`)).arrayBuffer());
  const read = [];
  let etag = "one";
  window.fetch = async (source, init) => {
    if (!`${source}`.includes("safetensors")) return send(source, init);
    if (etag === undefined || init.method === "HEAD") throw new TypeError("refused");
    const answered = etag;
    const pull = (body) => {
      read.push(answered);
      body.enqueue(file.slice());
      body.close();
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: { etag } });
  };
  for (const version of ["one", "two", "two", undefined]) {
    etag = version;
    (await Encoder.load(`/data/${checkpoint}`, { device })).dispose();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  window.fetch = send;
  await forgetCheckpoints();
  return read;
}

/** The answers of the cache, by what it kept. Runs in the page. */
async function keep({ device, checkpoint }) {
  const { Encoder, forgetCheckpoints } = await import("/package/index.js");
  const load = async (options) => {
    const encoder = await Encoder.load(`/data/${checkpoint}`, { device, ...options });
    encoder.dispose();
    // A checkpoint is kept once it is known to be good.
    await new Promise((resolve) => setTimeout(resolve, 300));
  };
  await forgetCheckpoints();
  await load({ version: "1" });
  await load({ version: "1" });
  await load({ version: "2" });
  // A header trims its value, and takes no letters beyond Latin-1.
  for (const version of ["v1 ", "版"]) {
    await load({ version });
    await load({ version });
  }
  const cache = await caches.open("simile-checkpoints");
  const [{ headers }] = await cache.matchAll();
  const kept = decodeURIComponent(headers.get("x-simile-version"));
  await load({});
  await load({});
  await load({ cache: false });

  // A copy in the cache that was damaged is fetched again.
  const [key] = await cache.keys();
  const response = await cache.match(key);
  const bytes = new Uint8Array(await response.arrayBuffer());
  bytes[bytes.length - 1] ^= 1;
  await cache.put(key, new Response(bytes, { headers: response.headers }));
  await load({});

  // Where nothing may be stored it is kept in memory.
  await forgetCheckpoints();
  const put = Cache.prototype.put;
  Cache.prototype.put = () => Promise.reject(new DOMException("full", "QuotaExceededError"));
  await load({ version: "1" });
  await load({ version: "1" });
  Cache.prototype.put = put;
  return { kept, entries: (await (await caches.open("simile-checkpoints")).keys()).length };
}
