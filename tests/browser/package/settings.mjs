// Settings, inputs and warnings of losses, in each form that a call takes.
import assert from "node:assert/strict";

export async function takesSettings(page) {
  const { typed, named, weighed, ridges } = await page.evaluate(evaluateForms);
  assert.equal(typed[0], typed[1], "typed arrays as rows");
  assert.deepEqual(named[0], named[1], "a kernel by its name, and by its settings");
  assert.ok(Number.isFinite(typed[0]) && named[0].every(Number.isFinite), `${typed}, ${named}`);
  // A setting may be given as it is: it has further parameters than the kernel and the ridge.
  assert.ok(Number.isFinite(weighed), `${weighed}`);
  // A ridge may stand among the further parameters.
  assert.ok(ridges[0] === ridges[1] && ridges[1] !== ridges[2], `${ridges}`);
  await sendsItsViewsAlone(page);
  await warns(page);
  await keepsAFormerName(page);
}

/** Runs in the page. */
async function evaluateForms() {
  const { LossLab } = await import("/package/index.js");
  const [a, b, z] = [[[1, 0], [0, 1], [0.6, 0.8]], [[0.8, 0.6], [0, 1], [1, 0]], [[0], [1], [3]]];
  const lab = await LossLab.create({ objective: "fair-cclk", kernel: "rbf" });
  const [typedA, typedZ] = [a, z].map((rows) => rows.map((row) => Float64Array.from(row)));
  const typed = [(await lab.evaluate(a, b, { z })).loss, (await lab.evaluate(typedA, b, { z: typedZ })).loss];
  const named = [];
  for (const kernel of ["rbf", { name: "rbf" }]) {
    lab.configure({ objective: "fair-cclk", kernel });
    named.push([(await lab.evaluate(a, b, { z })).loss, (await lab.weigh(z, { kernel })).condition]);
  }
  const setting = { objective: "fair-cclk", kernel: { name: "rbf", sigma: 1 } };
  const samples = [[0], [1], [2]];
  const { condition: weighed } = await lab.weigh(samples, { ...setting, temperature: 0.5 });
  const ridges = [];
  for (const own of [{ lambda: 5 }, { params: { lambda: 5 } }, {}]) {
    ridges.push((await lab.weigh(samples, { ...setting, ...own })).condition);
  }
  lab.dispose();
  return { typed, named, weighed, ridges };
}

/** Views that are parts of a larger array are sent without the rest of it, and stay with the caller. */
async function sendsItsViewsAlone(page) {
  const { sent, left } = await page.evaluate(async () => {
    const { LossLab } = await import("/package/index.js");
    const lab = await LossLab.create({ objective: "info-nce" });
    const data = Float32Array.from({ length: 6000 }, (_, at) => Math.sin(at));
    const [viewA, viewB] = [0, 6].map((from) => ({ data: data.subarray(from, from + 6), dims: [3, 2] }));
    const { postMessage } = Worker.prototype;
    const sent = [];
    Worker.prototype.postMessage = function (call, ...more) {
      const { viewA, viewB } = call.input;
      sent.push(viewA.data.buffer.byteLength, viewB.data.buffer.byteLength);
      postMessage.call(this, call, ...more);
    };
    await lab.differentiate(viewA, viewB);
    Worker.prototype.postMessage = postMessage;
    lab.dispose();
    return { sent, left: data.length };
  });
  assert.deepEqual(sent, [24, 24]);
  assert.equal(left, 6000);
}

/** The warnings of the command line, also of the default kernel. */
async function warns(page) {
  const [narrow, wide, byCosine] = await page.evaluate(async () => {
    const { LossLab } = await import("/package/index.js");
    const lab = await LossLab.create({ objective: "fair-cclk" });
    const [a, b, z] = [[[1, 0], [0, 1], [0.6, 0.8]], [[0.8, 0.6], [0, 1], [1, 0]], [[10], [120], [250]]];
    const warnings = [];
    for (const kernel of [{ name: "rbf", sigma: 1 }, { name: "rbf", sigma: 100 }, undefined]) {
      lab.configure({ objective: "fair-cclk", kernel });
      warnings.push((await lab.evaluate(a, b, { z })).warnings);
    }
    lab.dispose();
    return warnings;
  });
  assert.equal(narrow.length, 1);
  assert.match(narrow[0], /every kernel value between two samples/);
  assert.deepEqual(wide, []);
  assert.equal(byCosine.length, 1);
  assert.match(byCosine[0], /numbers of one sign are all alike/);
}

/** The backgrounds of digits have their former name too. */
async function keepsAFormerName(page) {
  const isSame = await page.evaluate(async () => {
    const { drawDigits } = await import("/package/index.js");
    const { backgrounds, grounds } = await drawDigits({ count: 2 });
    return backgrounds.length === 6 && backgrounds.every((channel, at) => channel === grounds[at]);
  });
  assert.equal(isSame, true);
}
