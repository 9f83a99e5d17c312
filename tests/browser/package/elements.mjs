// Elements whose file the browser does not load, does not give, or waits for; and pictures beyond the size of a canvas.
// A job: { package, data, checkpoint, images }; `data` is the folder of the files it names.
import assert from "node:assert/strict";
import { areRefused, listensToRefusals } from "../refusals.mjs";

export default async function (job, page, serve) {
  // No policy, because this page takes an image of another site. It asks for files that are not there, of which the browser complains.
  const [address, foreign] = [await serve({ package: job.package, data: job.data }, {}), await serve({ data: job.data }, {})];
  const other = await page.context().newPage();
  await listensToRefusals(other);
  await other.route("**/stalled.png", () => {});
  await other.goto(address);
  await waitsForElements(other, { ...job, foreign });
  await takesWidePictures(other);
  await decodesFewAtATime(other);
}

async function waitsForElements(page, job) {
  const { wasThere, length, messages } = await page.evaluate(embedElements, job);
  assert.equal(wasThere, false);
  assert.equal(length, 84);
  areRefused(messages);
  assert.match(messages.at(-1).message, /^image 1: the image http/);
}

/** Runs in the page, which keeps the encoder. */
async function embedElements({ checkpoint, images, foreign }) {
  const { Encoder } = await import("/package/index.js");
  const late = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, 20_000, "no answer"))]);
  const encoder = await Encoder.load(`/data/${checkpoint}`, { device: "cpu" });
  const elementOf = (src, loading = "eager") => {
    const element = Object.assign(new Image(), { loading, src });
    document.body.append(element);
    return element;
  };
  const space = document.createElement("div");
  space.style.height = "50000px";
  document.body.append(space);

  const lazy = elementOf(`/data/${images[0]}`, "lazy");
  await new Promise((resolve) => setTimeout(resolve, 200));
  const wasThere = lazy.complete;
  const { length } = await late(encoder.embed(lazy));
  const stalled = () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("taken back")), 200);
    return late(encoder.embed(elementOf("/data/stalled.png"), { signal: controller.signal }));
  };
  const messages = await messagesOf([
    [stalled, "taken back"],
    [() => encoder.embed(elementOf("/data/none.png")), "/data/none.png cannot be loaded"],
    [
      () => encoder.embedBatch([lazy, elementOf(`${foreign}/data/${images[0]}`)]),
      'pixels of another site, which no script may read; an element needs crossorigin="anonymous"',
    ],
  ]);
  window.encoder = encoder;
  return { wasThere, length, messages };
}

/** A bitmap that is wider than any canvas has its pixels, up to a limit. */
async function takesWidePictures(page) {
  const { isSame, messages } = await page.evaluate(async () => {
    const { encoder } = window;
    const wide = new ImageData(70_000, 50);
    wide.data.forEach((_, at) => (wide.data[at] = at % 4 === 3 ? 255 : (at * 7 + (at >> 12) * 5) % 256));
    const [ofBitmap, ofBytes] = [await encoder.embed(await createImageBitmap(wide)), await encoder.embed(wide)];
    const size = { resizeWidth: 8200, resizeHeight: 8200 };
    const large = await createImageBitmap(new ImageData(1, 1), size);
    const limit = "has 8200x8200 pixels, and at most 67 million are decoded; make it smaller first";
    const messages = await messagesOf([[() => encoder.embed(large), limit]]);
    return { isSame: ofBitmap.every((value, at) => value === ofBytes[at]), messages };
  });
  assert.equal(isSame, true);
  areRefused(messages);
}

/** Of photographs few are decoded at a time. */
async function decodesFewAtATime(page) {
  const decoded = await page.evaluate(embedPhotographs);
  assert.deepEqual(decoded.map(({ vectors }) => vectors), [5, 5]);
  for (const { millions } of decoded) assert.ok(millions >= 20 && millions < 68, `${millions} million pixels at once`);
}

/** Five files, the first one large or small: it says nothing of the size of the next. Four large ones are too many. Runs in the page. */
async function embedPhotographs() {
  const { encoder } = window;
  const photograph = new OffscreenCanvas(5000, 4000);
  photograph.getContext("2d").fillRect(0, 0, 5000, 4000);
  const file = await photograph.convertToBlob();
  const small = await new OffscreenCanvas(28, 28).getContext("2d").canvas.convertToBlob();
  const [decode, bitmaps, decoded] = [window.createImageBitmap, [], []];
  let most = 0;
  window.createImageBitmap = async (...input) => {
    const bitmap = await decode(...input);
    bitmaps.push(bitmap);
    // Those that were sent to the worker have no width any more.
    most = Math.max(most, bitmaps.reduce((sum, { width, height }) => sum + width * height, 0) / 1e6);
    return bitmap;
  };
  for (const first of [file, small]) {
    most = 0;
    const { dims } = await encoder.embedBatch([first, ...Array.from({ length: 4 }, () => file)]);
    decoded.push({ vectors: dims[0], millions: most });
  }
  window.createImageBitmap = decode;
  encoder.dispose();
  return decoded;
}
