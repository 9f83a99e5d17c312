//! The npm package and the site in a real browser, on WebGPU and on the CPU.
//!
//! Needs Chromium or Chrome (or its path in `CHROMIUM`), Node, and what `cargo web build` writes. Where one of them
//! is missing the tests say so in one line and pass; with `SIMILE_REQUIRE_BROWSER=1` they fail instead.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use burn::tensor::{DType, Device};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use simile_core::case::Case;
use simile_core::checkpoint::{Checkpoint, Metadata};
use simile_core::dataset::colour_mnist::Colours;
use simile_core::dataset::digits::draw_digits;
use simile_core::encoder::EncoderConfig;
use tempfile::TempDir;

const IMAGES: usize = 64;

#[derive(Clone, Copy)]
enum Where {
    WebGpu,
    /// The choice is left to the package, in a browser that offers no adapter.
    Cpu,
}

impl Where {
    fn job(self) -> Value {
        match self {
            Self::WebGpu => json!({ "webgpu": true, "device": "webgpu" }),
            Self::Cpu => json!({ "webgpu": false, "device": "auto" }),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::WebGpu => "webgpu",
            Self::Cpu => "cpu",
        }
    }
}

#[test]
fn the_package_embeds_as_the_command_line_does_on_the_cpu() {
    embeds_as_the_command_line_does(Where::Cpu);
}

#[test]
fn the_package_embeds_as_the_command_line_does_on_webgpu() {
    embeds_as_the_command_line_does(Where::WebGpu);
}

#[test]
fn a_visitor_can_use_the_site_on_the_cpu() {
    a_visitor_can_use_the_site(Where::Cpu);
}

#[test]
fn a_visitor_can_use_the_site_on_webgpu() {
    a_visitor_can_use_the_site(Where::WebGpu);
}

fn embeds_as_the_command_line_does(place: Where) {
    if !is_ready() {
        return;
    }
    let data = Data::write();
    let cases = cases();
    let result = run(
        "package.mjs",
        place.job(),
        json!({
            "package": workspace().join("web/pkg"),
            "data": data.folder.path(),
            "checkpoint": Data::CHECKPOINT,
            "images": data.images,
            "cases": cases,
        }),
    );

    assert_eq!(result["complaints"], json!([]));
    assert_eq!(result["device"]["kind"], place.name());
    assert_eq!(result["info"]["encoder"], "lenet5");
    assert_eq!(result["loaded"], std::fs::metadata(data.path(Data::CHECKPOINT)).unwrap().len());

    let rows: Vec<Vec<f64>> = serde_json::from_value(result["rows"].clone()).unwrap();
    let expected = data.embed_natively();
    assert_eq!(rows.len(), IMAGES);
    let difference = largest_difference(&rows, &expected);
    println!("{}: largest difference to `simile embed` {difference:.1e}", place.name());
    assert!(difference < 1e-4, "{difference}");

    for (kind, difference) in result["differences"].as_object().unwrap() {
        assert!(difference.as_f64().unwrap() < 1e-5, "an image given as {kind} differs by {difference}");
    }
    assert_eq!(result["repeated"], true);
    for (what, expected) in [("aborted", "taken back"), ("missing", "404"), ("corrupt", "checkpoint")] {
        let message = result["messages"][what].as_str().unwrap();
        assert!(message.contains(expected), "{what}: {message}");
    }

    // A WebGPU device that is lost costs a delay and the GPU, not the encoder.
    let afterwards = &result["afterwards"];
    let row: Vec<f64> = serde_json::from_value(afterwards["row"].clone()).unwrap();
    assert!(largest_difference(&[row], &expected[..1]) < 1e-4);
    assert_eq!(afterwards["device"]["kind"], "cpu");
    assert!(afterwards["disposed"].as_str().unwrap().contains("disposed"), "{afterwards}");

    for (case, found) in cases.as_array().unwrap().iter().zip(result["evaluations"].as_array().unwrap()) {
        let case = Case::parse(&case.to_string()).unwrap();
        let expected = case.evaluate(&Device::flex(), DType::F64, None).unwrap();
        let expected = pollster::block_on(expected.read()).unwrap();
        let loss = found["loss"].as_f64().unwrap();
        assert!((loss - expected.loss.unwrap()).abs() < 1e-5, "{}: {loss}", case.objective);
        for (name, key) in [("view_a", "gradA"), ("view_b", "gradB")] {
            let found: Vec<Vec<f64>> = serde_json::from_value(found[key].clone()).unwrap();
            assert!(
                largest_difference(&found, &expected.gradients[name]) < 1e-4,
                "{} {name}",
                case.objective
            );
        }
    }
}

fn a_visitor_can_use_the_site(place: Where) {
    if !is_ready() {
        return;
    }
    let data = Data::write();
    let result = run(
        "site.mjs",
        place.job(),
        json!({
            "site": workspace().join("www/dist"),
            "data": data.folder.path(),
            "checkpoint": data.path(Data::CHECKPOINT),
            "image": data.path(&data.images[0]),
            "screenshots": screenshots(),
        }),
    );
    assert_eq!(result["complaints"], json!([]));
    assert!(result["refusal"].as_str().unwrap().contains("safetensors"), "{}", result["refusal"]);
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the page is wider than a phone");
    assert_eq!(result["asked"], json!(["model", "Fair-CCLK", "InfoNCE"]));
    assert!(result["encoder"].as_str().unwrap().starts_with("model: lenet5"), "{}", result["encoder"]);
    let device = result["device"].as_str().unwrap();
    assert!(device.to_lowercase().starts_with(place.name()), "{device}");

    // What the page is there to show: the neighbours of one encoder share the digit, those of the other the ground.
    let share = |encoder: &str, what: usize| result["tallies"][encoder][what].as_f64().unwrap();
    let (digit, ground) = (0, 1);
    assert!(share("fair", digit) > share("unconditional", digit), "{}", result["tallies"]);
    assert!(share("fair", ground) < share("unconditional", ground), "{}", result["tallies"]);
}

#[test]
fn a_visitor_can_use_the_loss_lab() {
    if !is_ready() {
        return;
    }
    let screenshots = screenshots();
    let site = workspace().join("www/dist");
    let result = run("lab.mjs", Where::Cpu.job(), json!({ "site": site, "screenshots": screenshots }));
    assert_eq!(result["complaints"], json!([]));
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the lab is wider than a phone");
    assert_eq!(result["failures"], json!([]));
    assert_eq!(result["embedded"], json!({ "header": false, "overflow": false }));
    let numbers = |value: &Value| -> Vec<f64> { serde_json::from_value(value.clone()).unwrap() };

    let (before, after) = (&result["before"], &result["after"]);
    for side in 0..2 {
        assert!(numbers(&after["loss"])[side] < numbers(&before["loss"])[side] - 0.1, "{before} {after}");
    }
    let (started, shared) = (numbers(&before["shared"]), numbers(&after["shared"]));
    assert_eq!(started[0], started[1]);
    assert!(shared[1] < shared[0] - 0.2, "{after}");

    let shown = |motion: &str| result["shown"][motion].as_u64().unwrap();
    assert!(shown("still") >= 1 && shown("still") * 3 < shown("moving"), "{}", result["shown"]);

    assert!(result["focus"].as_str().unwrap().contains("Sample 1, first view"), "{}", result["focus"]);
    assert_eq!(result["drag"]["tops"], json!([1, 1]), "both sides move the point that is dragged");
    let loss = numbers(&result["drag"]["loss"]);
    assert!((loss[0] - loss[1]).abs() > 1e-4, "{loss:?}");
    assert_eq!(result["painted"], json!([0.6]));

    let restored = &result["restored"];
    assert_eq!(restored["state"], true, "{}", result["address"]);
    assert_eq!(restored["kernel"], "laplacian");
    assert!(restored["farthest"].as_f64().unwrap() < 1e-4, "{restored}");
    let loss: Vec<Vec<f64>> = serde_json::from_value(restored["loss"].clone()).unwrap();
    assert!(largest_difference(&loss[..1], &loss[1..]) < 1e-2, "{restored}");
    let pair = result["pair"].as_str().unwrap();
    assert!(pair.contains("first view) and sample") && pair.contains("left -"), "a pair attracts: {pair}");
    is_laplacian(result["cell"].as_str().unwrap(), &numbers(&restored["hues"]));

    let columns = numbers(&result["csv"]);
    assert_eq!(columns, vec![9.0; 1 + 2 * 2 * 16], "a line for each point of each view and side");
    assert_eq!(result["svg"]["error"], "");
    assert!(result["svg"]["shapes"].as_u64().unwrap() > 64);
    for (language, expected) in
        [("rust", "objective::build"), ("recipe", "[arm.objective]"), ("torch", "def fair_cclk")]
    {
        let code = result["code"][language].as_str().unwrap();
        let is_expected = code.contains(expected) || (language == "torch" && code.contains("def nt_xent"));
        assert!(is_expected, "{language}: {code}");
    }

    let presets = result["presets"].as_object().unwrap();
    for (title, shown) in presets {
        assert_eq!(shown["status"], "", "{title}");
        assert!(shown["story"].as_str().unwrap().len() > 40, "{title}");
    }
    let gradients = numbers(&presets["No ridge, no gradient"]["gradient"]);
    assert!(gradients[0] < gradients[1] / 20.0, "{gradients:?}");
    assert!((numbers(&presets["No ridge, no gradient"]["loss"])[0] - 16.0_f64.ln()).abs() < 0.02);
    let clipped = numbers(&presets["What clipping does"]["gradient"]);
    assert!(clipped[0] < clipped[1] / 2.0, "{clipped:?}");

    let objectives: Vec<String> = serde_json::from_value(result["objectives"].clone()).unwrap();
    assert!(objectives.len() >= 18, "{objectives:?}");
    let refused = result["refused"].as_array().unwrap().len();
    assert_eq!(objectives.len() + refused, simile_core::objective::names().count());
}

/// Whether the text under a heat map states what the Laplacian kernel of the two samples' hues is.
fn is_laplacian(cell: &str, hues: &[f64]) {
    let numbers: Vec<f64> = cell
        .split(|c: char| !(c.is_ascii_digit() || ".e-".contains(c)))
        .filter_map(|v| v.parse().ok())
        .collect();
    let [i, j, value, ..] = numbers[..] else { panic!("{cell}") };
    let turns = hues[i as usize - 1] - hues[j as usize - 1];
    let distance = 2.0 * (std::f64::consts::PI * turns).sin().abs();
    assert!((value - (-distance / 0.5).exp()).abs() < 2e-3, "{cell}: distance {distance}");
}

/// A checkpoint and images in a folder of their own.
struct Data {
    folder: TempDir,
    images: Vec<String>,
}

impl Data {
    const CHECKPOINT: &str = "model.safetensors";

    fn write() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let digits = draw_digits(IMAGES, Colours::Palette, 7).unwrap().images;
        let images: Vec<String> = (0..IMAGES).map(|at| format!("{at:02}.png")).collect();
        for (name, pixels) in images.iter().zip(digits.iter()) {
            let image = image::RgbImage::from_raw(digits.width as u32, digits.height as u32, pixels.to_vec());
            image.unwrap().save(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join(Self::CHECKPOINT), checkpoint()).unwrap();
        Self { folder, images }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The rows that `simile embed` writes.
    fn embed_natively(&self) -> Vec<Vec<f64>> {
        let table = self.path("vectors.csv");
        let mut command = Command::new(simile());
        command.current_dir(&self.folder).arg("embed").arg(Self::CHECKPOINT).args(&self.images);
        succeed(command.args(["--device", "cpu", "--out"]).arg(&table));
        let table = std::fs::read_to_string(table).unwrap();
        let numbers =
            |line: &str| line.split(',').skip(1).map(|v| v.parse().ok()).collect::<Option<Vec<f64>>>();
        table.lines().filter_map(numbers).collect()
    }
}

/// An encoder as it is before training: its numbers are as good as any for a comparison.
fn checkpoint() -> Vec<u8> {
    let device = Device::flex();
    let config = EncoderConfig::default();
    let encoder = config.init(&device, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let metadata = Metadata::new(config, vec![0.5, 0.4, 0.45], vec![0.25, 0.2, 0.3]);
    pollster::block_on(Checkpoint { metadata, encoder, head: None }.to_bytes()).unwrap()
}

/// The command line's binary, which cargo builds beside this test.
fn simile() -> PathBuf {
    let target = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_path_buf();
    let binary = target.join(format!("simile{}", std::env::consts::EXE_SUFFIX));
    if !binary.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        succeed(Command::new(cargo).args(["build", "--workspace", "--bins"]).current_dir(workspace()));
    }
    binary
}

/// Objectives on the same random views, with a continuous condition. The last two want tensors on the host, which a
/// page cannot read back from WebGPU without waiting.
fn cases() -> Value {
    let view = |seed: usize| -> Vec<Vec<f64>> {
        (0..16).map(|i| (0..8).map(|j| ((seed + i * 8 + j) as f64 * 12.9898).sin()).collect()).collect()
    };
    let z: Vec<Vec<f64>> = (0..16).map(|i| vec![(i as f64 * 0.7).sin(), (i as f64 * 1.3).cos()]).collect();
    let inputs = json!({ "view_a": view(0), "view_b": view(1000) });
    let mut conditioned = inputs.clone();
    conditioned["z"] = json!(z);
    let kernel = json!({ "temperature": 0.5, "kernel": { "name": "rbf", "sigma": 1.0 } });
    let mut trainable = conditioned.clone();
    trainable["log_sigma"] = json!([[0.1]]);
    json!([
        { "objective": "info-nce", "params": { "temperature": 0.5 }, "inputs": inputs },
        { "objective": "fair-cclk", "params": kernel, "inputs": conditioned },
        { "objective": "fair-cclk", "variant": "paper", "params": kernel, "inputs": conditioned },
        { "objective": "hardneg-cclk", "params": kernel, "inputs": inputs },
        { "objective": "fair-cclk-trainable", "params": { "temperature": 0.5 }, "inputs": trainable },
    ])
}

fn largest_difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.iter().map(Vec::len).collect::<Vec<_>>(), b.iter().map(Vec::len).collect::<Vec<_>>());
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    // A NaN is no small difference.
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, |most, d| if d <= most { most } else { d })
}

/// Whether there is everything that the tests need.
fn is_ready() -> bool {
    let is_required = std::env::var_os("SIMILE_REQUIRE_BROWSER").is_some_and(|value| value == "1");
    match prepare() {
        Ok(()) => true,
        Err(missing) if is_required => panic!("{missing}"),
        Err(missing) => {
            println!("browser tests skipped: {missing}");
            false
        }
    }
}

fn prepare() -> Result<(), String> {
    let folder = workspace().join("tests/browser");
    let probe = "import('./chromium.mjs').then(m => process.exit(m.findChromium() ? 0 : 3))";
    for built in ["web/pkg/index.js", "www/dist/index.html"] {
        if !workspace().join(built).exists() {
            return Err(format!("{built} is missing; run `cargo web build`"));
        }
    }
    if !folder.join("node_modules").exists() {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let installed =
            Command::new(npm).args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).output();
        match installed {
            Ok(output) if output.status.success() => (),
            Ok(output) => return Err(format!("npm ci failed: {}", String::from_utf8_lossy(&output.stderr))),
            Err(error) => return Err(format!("Node with npm is missing ({error})")),
        }
    }
    match Command::new("node").args(["-e", probe]).current_dir(&folder).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) if output.status.code() == Some(3) => {
            Err("no Chromium or Chrome was found; set CHROMIUM to its path".into())
        }
        Ok(output) => {
            Err(format!("playwright-core does not load: {}", String::from_utf8_lossy(&output.stderr)))
        }
        Err(error) => Err(format!("Node is missing ({error})")),
    }
}

/// Runs a script of `tests/browser` with a job; gives what it prints.
fn run(script: &str, place: Value, job: Value) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.json");
    let mut whole = place;
    whole.as_object_mut().unwrap().extend(job.as_object().unwrap().clone());
    std::fs::write(&file, whole.to_string()).unwrap();
    let mut command = Command::new("node");
    command.arg(workspace().join("tests/browser").join(script)).arg(&file);
    let output = succeed(&mut command);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Where the pages are kept as pictures.
fn screenshots() -> PathBuf {
    let folder = workspace().join("target/browser");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}
