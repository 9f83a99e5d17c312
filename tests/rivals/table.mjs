// Measures the package beside other runtimes in one browser on one machine, and prints a Markdown table:
//
//     npm ci && (cd ../browser && npm ci) && node table.mjs PYTHON [SIMILE [NAME...]]
//
// PYTHON has torch, torchvision and onnx; SIMILE is the program (target/release/simile); names are those of the pages,
// all of them by default. `cargo web build` comes first.
// Everything computes on one thread of WebAssembly, or on WebGPU, and is served from this machine.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "../browser/chromium.mjs";
import { serve } from "../browser/serve.mjs";
import { sizesOf } from "./sizes.mjs";

const RIVALS = {
  simile: "simile-web",
  onnxruntime: "onnxruntime-web",
  transformers: "@huggingface/transformers",
  jax: "@jax-js/jax",
  tensorflow: "@tensorflow/tfjs",
};
/** The measurements that a runtime cannot make, with the reasons. */
const CANNOT = {
  simile: {},
  onnxruntime: { objective: "no gradients", train: "no training" },
  transformers: { objective: "no gradients", train: "no training" },
  jax: { train: "not compared" },
  tensorflow: { open: "reads neither ONNX nor safetensors", train: "not compared" },
};
const NAVIGATIONS = 5;
/** Milliseconds that a measurement may take. */
const PATIENCE = 60_000;

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const [python, simile = here("../../target/release/simile"), ...asked] = process.argv.slice(2);
if (!python) throw new Error("usage: node table.mjs PYTHON [SIMILE [NAME...]]");
const names = Object.keys(RIVALS).filter((name) => asked.length === 0 || asked.includes(name));

await prepareModels();
await buildPages();
const folders = {
  pages: here("build/pages"),
  models: here("build/models"),
  hub: here("build/hub"),
  package: here("../../web/pkg"),
  onnxruntime: here("node_modules/onnxruntime-web/dist"),
  "transformers-runtime": here("node_modules/@huggingface/transformers/node_modules/onnxruntime-web/dist"),
  tensorflow: here("node_modules/@tensorflow/tfjs-backend-wasm/dist"),
};
const server = await serve(folders, { "Cache-Control": "max-age=3600" });
try {
  const columns = [];
  for (const name of names) columns.push(await measure(name));
  await print(columns);
} finally {
  server.close();
}

/** All rows of one runtime. */
async function measure(name) {
  const cannot = CANNOT[name];
  const rows = {};
  const note = async (row, needs, get) => {
    rows[row] = cannot[needs] ?? (await get().catch((error) => reasonOf(error)));
    process.stderr.write(`${name}: ${row}: ${rows[row]}\n`);
  };
  const milliseconds = (value) => `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`;
  const ask = (options, method, ...input) => withPage(name, options, (page) => call(page, method, ...input));

  for (const device of ["cpu", "webgpu"]) {
    await note(`over the wire, ${device} (gzip / brotli)`, "nothing", () => bytes(name, device, cannot));
  }
  const navigations = cannot.open ? undefined : navigate(name);
  // Both rows report its failure.
  navigations?.catch(() => {});
  await note("navigation to first embedding, cold", "open", async () => milliseconds((await navigations).cold));
  await note("navigation to first embedding, warm", "open", async () => milliseconds((await navigations).warm));
  for (const [network, counts] of [["lenet5", [[1, 51], [32, 31]]], ["resnet18", [[1, 7], [32, 3]]]]) {
    for (const [count, repeats] of counts) {
      await note(`${network}, ${count === 1 ? "1 image" : `${count} images`}, cpu`, "open", async () =>
        milliseconds(await ask({}, "latency", network, "cpu", count, repeats)),
      );
    }
  }
  for (const device of ["cpu", "webgpu"]) {
    for (const [count, size, repeats] of [[64, 2, 51], [512, 64, 15]]) {
      await note(`InfoNCE and gradient, ${count} × ${size}, ${device}`, "objective", async () =>
        milliseconds(await ask({ webgpu: device === "webgpu" }, "gradient", count, size, device, repeats)),
      );
    }
  }
  await note("LeNet-5 learns from, cpu", "train", async () => `${Math.round(await ask({}, "views", "cpu", 40))} views a second`);
  const what = cannot.open ? "loss" : "embed";
  await note("memory of the page after 1 and 501 calls", "nothing", async () => `${await memory(name, what)}${what === "loss" ? " (loss)" : ""}`);
  rows.check = await checks(name, cannot);
  return rows;
}

/** The numbers in which the runtimes have to agree. */
async function checks(name, cannot) {
  return withPage(name, {}, async (page) => ({
    lenet5: cannot.open ? undefined : await call(page, "vector", "lenet5", "cpu"),
    resnet18: cannot.open ? undefined : await call(page, "vector", "resnet18", "cpu"),
    loss: cannot.objective ? undefined : [await call(page, "loss", "cpu")],
  })).catch((error) => ({ failure: error.message }));
}

/** The scripts and the WebAssembly that a page has fetched when it has computed something. */
async function bytes(name, device, cannot) {
  const fetched = new Set();
  const collect = (page) =>
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (/\.(m?js|wasm)$/.test(pathname)) fetched.add(pathname);
    });
  await withPage(name, { webgpu: device === "webgpu", collect }, (page) =>
    cannot.open ? call(page, "loss", device) : call(page, "vector", "lenet5", device),
  );
  const files = [...fetched].map((path) => {
    const [, folder, ...rest] = path.split("/");
    return `${folders[folder]}/${rest.join("/")}`;
  });
  const { gzip, brotli } = await sizesOf(files, here("build/sizes.json"));
  const megabytes = (size) => (size / 1e6).toFixed(2);
  return `${megabytes(gzip)} / ${megabytes(brotli)} MB`;
}

/** Medians of the time from a navigation to the first vector: in a new browser, and once more in the same one. */
async function navigate(name) {
  const taken = { cold: [], warm: [] };
  for (let turn = 0; turn < NAVIGATIONS; turn++) {
    const browser = await launch({});
    try {
      const context = await browser.newContext();
      for (const state of ["cold", "warm"]) {
        const page = await context.newPage();
        await page.goto(`${server.address}/pages/${name}.html?first`);
        await page.waitForFunction(() => window.first);
        taken[state].push(await patient(page.evaluate(() => window.first)));
        await page.close();
      }
    } finally {
      await browser.close();
    }
  }
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return { cold: median(taken.cold), warm: median(taken.warm) };
}

/** Resident memory of the page's process, with its workers. */
async function memory(name, what) {
  return withPage(name, {}, async (page, browser) => {
    const session = await browser.newBrowserCDPSession();
    const resident = async () => {
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      const renderers = processInfo.filter(({ type }) => type === "renderer");
      const sizes = await Promise.all(
        renderers.map(async ({ id }) => Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${id}/status`, "utf8"))?.[1])),
      );
      return `${Math.round(Math.max(...sizes) / 1024)}`;
    };
    await call(page, "repeat", what, 1);
    const before = await resident();
    await call(page, "repeat", what, 500);
    return `${before} / ${await resident()} MiB`;
  });
}

async function withPage(name, { webgpu = false, collect = () => {} }, use) {
  const browser = await launch({ webgpu });
  try {
    const page = await browser.newPage();
    collect(page);
    await page.goto(`${server.address}/pages/${name}.html`);
    await page.waitForFunction(() => window.rival);
    return await use(page, browser);
  } finally {
    await browser.close();
  }
}

/** The first line of what went wrong. */
function reasonOf({ message }) {
  return message.split("\n")[0].replace("page.evaluate: Error: ", "").slice(0, 90);
}

function call(page, method, ...input) {
  return patient(page.evaluate(([method, input]) => window.rival[method](...input), [method, input]));
}

function patient(promise) {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error("more than a minute")), PATIENCE).unref());
  return Promise.race([promise, late]);
}

async function print(columns) {
  const version = async (name) =>
    name === "simile-web" ? name : `${name} ${JSON.parse(await readFile(here(`node_modules/${name}/package.json`), "utf8")).version}`;
  const titles = await Promise.all(names.map((name) => version(RIVALS[name])));
  const [ours] = columns;
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const rows = Object.keys(ours).filter((row) => row !== "check");
  console.log(line(["", ...titles]));
  console.log(line(["---", ...titles.map(() => "---")]));
  for (const row of rows) console.log(line([row, ...columns.map((column) => column[row])]));

  for (const [at, { check }] of columns.entries()) {
    for (const [what, values] of Object.entries(check)) {
      if (values === undefined) continue;
      const far = Array.isArray(values) && Math.max(...values.map((value, k) => Math.abs(value - ours.check[what]?.[k])));
      if (!(far < 1e-3)) console.log(`\n${titles[at]} finds something else, ${what}: ${far || values}`);
    }
  }
}

async function prepareModels() {
  const models = here("build/models");
  if (!existsSync(`${models}/resnet18.onnx`)) {
    await mkdir(models, { recursive: true });
    execFileSync(python, [here("models.py"), models], { stdio: "inherit" });
  }
  for (const [name, side] of [["lenet5", 32], ["resnet18", 224]]) {
    const plain = ["--mean", "0,0,0", "--std", "1,1,1"];
    const file = `${models}/${name}.safetensors`;
    if (!existsSync(file)) {
      execFileSync(simile, ["import", `${models}/${name}.pt`, "--encoder", name, "--input-size", side, ...plain, "--out", file]);
    }
    // A model of transformers.js is a folder with a configuration.
    await mkdir(here(`build/hub/${name}/onnx`), { recursive: true });
    await writeFile(here(`build/hub/${name}/config.json`), JSON.stringify({ model_type: name }));
    await writeFile(here(`build/hub/${name}/onnx/model.onnx`), await readFile(`${models}/${name}.onnx`));
  }
}

async function buildPages() {
  const { build } = await import("esbuild");
  await build({
    entryPoints: names.map((name) => here(`pages/${name}.js`)),
    outdir: here("build/pages"),
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2022",
    external: ["/package/*"],
    logLevel: "error",
  });
  for (const name of names) {
    const head = `<!doctype html><title>${name}</title><link rel="icon" href="data:," />`;
    await writeFile(here(`build/pages/${name}.html`), `${head}<script type="module" src="./${name}.js"></script>`);
  }
}
