//! The npm package in a plain page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use burn::tensor::{DType, Device};
use serde_json::{Value, json};
use simile_core::nn::{Architecture, EncoderConfig};
use simile_core::requests::Request;

use crate::data::{Data, IMAGES};
use crate::{Where, is_ready, largest_difference, run, workspace};

#[test]
fn the_package_embeds_as_the_command_line_does_on_the_cpu() {
    embeds_as_the_command_line_does(Where::Cpu);
}

#[test]
fn the_package_embeds_as_the_command_line_does_on_webgpu() {
    embeds_as_the_command_line_does(Where::WebGpu);
}

/// One image and several take different code paths, and the command line uses threads.
#[test]
fn a_residual_network_and_a_transformer_give_the_same_alone_and_together() {
    if !is_ready() {
        return;
    }
    let residual =
        EncoderConfig { name: Architecture::ResNet18, width: Some(32), ..EncoderConfig::default() };
    let transformer = EncoderConfig { name: Architecture::VitS16, ..EncoderConfig::default() };
    let networks = [(residual, 256), (transformer, 384)].map(|(encoder, features)| {
        let name = encoder.name.name();
        (name, Data::write_for(encoder, 12), features)
    });
    let folders: BTreeMap<&str, &Path> =
        networks.iter().map(|(name, data, _)| (*name, data.folder.path())).collect();
    let results = run(
        "alone-and-together.mjs",
        Where::Cpu.job(),
        json!({
            "package": workspace().join("web/pkg"),
            "networks": folders,
            "checkpoint": Data::CHECKPOINT,
            "images": networks[0].1.images,
        }),
    );
    for (name, data, features) in networks {
        assert_eq!(results[name]["encoder"], name);
        let expected = data.embed_natively();
        let largest = expected.iter().flatten().fold(0.0, |largest, value| value.abs().max(largest));
        for way in ["alone", "together"] {
            let rows: Vec<Vec<f64>> = serde_json::from_value(results[name][way].clone()).unwrap();
            assert_eq!((rows.len(), rows[0].len()), (12, features), "{name} {way}");
            let difference = largest_difference(&rows, &expected);
            assert!(difference < 1e-4 * largest, "{name} {way}: {difference} of {largest}");
        }
    }
}

fn embeds_as_the_command_line_does(place: Where) {
    if !is_ready() {
        return;
    }
    let data = Data::write();
    let cases = cases();
    // A file, because the page allows no other scripts.
    std::fs::write(data.path("example.js"), example()).unwrap();
    let result = run(
        "package.mjs",
        place.job(),
        json!({
            "package": workspace().join("web/pkg"),
            "data": data.folder.path(),
            "checkpoint": Data::CHECKPOINT,
            "images": data.images,
            "cases": cases,
            "example": "example.js",
        }),
    );

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
    let example: Vec<f64> = serde_json::from_value(result["example"].clone()).unwrap();
    assert!(largest_difference(&[example], &expected[..1]) < 1e-4, "the README's example");
    assert_eq!(result["repeated"], true);
    assert_eq!(result["isAlias"], true, "the former name of the backgrounds of digits");
    faults_are_named(&result["messages"], place);
    assert_eq!(result["typed"][0], result["typed"][1], "typed arrays as rows");
    let [converted, taken_for_another]: [f64; 2] = serde_json::from_value(result["ofWide"].clone()).unwrap();
    assert!(converted < taken_for_another / 10.0, "another colour space: {}", result["ofWide"]);
    let named: [f64; 4] = serde_json::from_value(result["named"].clone()).unwrap();
    assert_eq!(named[..2], named[2..], "a kernel by its name, and by its settings");

    let ridges: [f64; 3] = serde_json::from_value(result["ridges"].clone()).unwrap();
    assert!(ridges[0] == ridges[1] && ridges[1] != ridges[2], "a ridge among the parameters: {ridges:?}");
    let [narrow, wide, by_cosine]: [Vec<String>; 3] =
        serde_json::from_value(result["warnings"].clone()).unwrap();
    assert!(narrow.len() == 1 && narrow[0].contains("every kernel value between two samples"), "{narrow:?}");
    assert!(wide.is_empty(), "{wide:?}");
    let is_warned = by_cosine.len() == 1 && by_cosine[0].contains("numbers of one sign are all alike");
    assert!(is_warned, "the default kernel: {by_cosine:?}");
    if matches!(place, Where::Cpu) {
        elements_are_waited_for(&result["elements"]);
    }

    // A camera's orientation turns the picture that a page shows, and not its vector.
    assert_eq!(result["turned"]["jpeg"]["isTurned"], true, "{}", result["turned"]);
    for (format, turned) in result["turned"].as_object().unwrap() {
        assert_eq!(turned["difference"], 0.0, "{format}: {turned}");
    }

    works_after_a_loss(&result["afterwards"], &expected[..1]);
    losses_are_those_of_core(&cases, &result["evaluations"]);
}

/// Asserts that an encoder whose WebGPU device was lost still works, on the CPU.
fn works_after_a_loss(afterwards: &Value, expected: &[Vec<f64>]) {
    let row: Vec<f64> = serde_json::from_value(afterwards["row"].clone()).unwrap();
    assert!(largest_difference(&[row], expected) < 1e-4);
    assert_eq!(afterwards["device"]["kind"], "cpu");
    assert!(afterwards["disposed"].as_str().unwrap().contains("disposed"), "{afterwards}");
}

/// Asserts that an element is loaded, or named, and that a picture wider than a canvas has its pixels.
fn elements_are_waited_for(elements: &Value) {
    assert_eq!((&elements["wasThere"], &elements["length"]), (&json!(false), &json!(84)), "{elements}");
    assert_eq!(elements["photographs"], json!([8, 8]));
    let millions: [f64; 2] = serde_json::from_value(elements["decoded"].clone()).unwrap();
    let few = |most: f64| (20.0..68.0).contains(&most);
    assert!(millions.into_iter().all(few), "millions of pixels that are decoded at once: {millions:?}");
    assert_eq!(elements["isSame"], true, "a wide bitmap is embedded as something else than its pixels");
    for (what, expected) in [
        ("stalled", "taken back"),
        (
            "unallowed",
            "pixels of another site, which no script may read; an element needs crossorigin=\"anonymous\"",
        ),
        ("broken", "/data/none.png cannot be loaded"),
        ("large", "has 8200x8200 pixels, and at most 67 million are decoded; make it smaller first"),
    ] {
        let message = elements["messages"][what].as_str().unwrap();
        assert!(message.contains(expected), "{what}: {message}");
    }
    let unallowed = elements["messages"]["unallowed"].as_str().unwrap();
    assert!(unallowed.starts_with("image 1: the image http"), "{unallowed}");
}

/// Asserts that a call that cannot be answered says why.
fn faults_are_named(messages: &Value, place: Where) {
    for (what, expected) in [
        ("aborted", "taken back"),
        ("missing", "404"),
        ("corrupt", "checkpoint"),
        ("halved", "3 x 32 x 32 numbers, not 3 x 32 x 16"),
        ("cut", "need 3072 numbers"),
        ("infinite", "is not a finite number"),
        ("unserved", "cpu.wasm cannot be loaded: "),
        ("unservedToWorker", "cpu.wasm cannot be loaded: "),
        ("withoutWasm", "no WebAssembly, or it is switched off"),
        ("withoutSimd", "has no SIMD"),
        ("unservedWorker", "before version 8 needs optimizeDeps"),
        ("unservedGpu", if matches!(place, Where::WebGpu) { "webgpu.wasm cannot be loaded: " } else { "" }),
        ("undecoded", "example.js cannot be decoded as an image"),
        ("bandwidth", "`sigma` is NaN, expected a finite number"),
        ("digits", "count is -1, expected an integer from 1"),
        ("most", "count is 1000000, expected an integer from 1 to 100000"),
        ("place", "`view_a[1][1]` is NaN"),
        ("differing", "viewB has 3 x 2 numbers, expected 2 x 3"),
        ("short", "viewA of 99 x 2 needs 198 numbers, and 6 are given"),
        ("unread", "unknown input `lables`"),
        ("chosen", "device is \"gpu\", expected one of auto, cpu, webgpu"),
        ("alone", "neither a list nor numbers with dims; write [image]"),
        ("unspread", "neither a list nor numbers with dims; write [...images]"),
        ("dimless", "neither a list nor numbers with dims; write { data, dims }"),
        ("numbered", "`version` is 3, expected a string"),
        ("unfilled", "not finite"),
        ("holes", "not finite"),
        ("bytes", "images have the number 200, expected numbers in 0..1"),
        ("negative", "the width of an image is -1"),
        ("flatRows", "`view_a` is an object, expected a list of rows of numbers; `differentiate`"),
        ("rowsForFlat", "viewA is a list, expected { data, dims: [rows, columns] }"),
        ("asText", "the data of viewA is the string \"123456\", expected a Float32Array"),
        ("asNull", "the data of viewA is null at 2, expected numbers"),
        ("deep", "viewA has dims of 3 numbers, expected [rows, columns]"),
        ("map", "`params` is a Map, expected an object with values by name"),
        ("mapOfOptions", "the options of the call are a Map, expected an object with values by name"),
        ("mapOfInputs", "the inputs are a Map, expected an object with values by name"),
        ("bigints", "`z` is a BigInt64Array, expected a list of rows of numbers"),
        (
            "controller",
            "`signal` is an AbortController, expected an AbortSignal, such as `controller.signal`",
        ),
        ("input", "the inputs have an unknown `zz`; known: z, labels, bias"),
        ("misplaced", "`z` stands among `others` and has a place of its own"),
        ("twice", "`temperature` stands among `params` and has a place of its own"),
        ("third", "image 2: an image is null, expected an image, video or canvas element"),
        ("option", "a LossLab have an unknown `temperatur`; known: objective, variant, kernel, temperature"),
        ("signal", "unknown `singal`; known: signal"),
        ("text", "count is the string \"3\", expected an integer from 1"),
        ("nothing", "an image is null, expected an image, video or canvas element"),
        ("halves", "the data of an image is a Uint16Array, expected a Uint8ClampedArray"),
        ("source", "the checkpoint is undefined, expected an address"),
        ("view", "the checkpoint is a DataView, expected an address"),
    ] {
        let message = messages[what].as_str().unwrap();
        assert!(message.contains(expected), "{what}: {message}");
    }
    assert_eq!(messages["differentiated"], messages["infinite"]);
}

/// Asserts that the losses and gradients of some cases are those of core.
fn losses_are_those_of_core(cases: &Value, evaluations: &Value) {
    for (case, evaluation) in cases.as_array().unwrap().iter().zip(evaluations.as_array().unwrap()) {
        let case = Request::parse(&case.to_string()).unwrap();
        let expected = case.evaluate(&Device::flex(), DType::F64, None).unwrap();
        let expected = pollster::block_on(expected.read()).unwrap();
        let loss = evaluation["loss"].as_f64().unwrap();
        assert!((loss - expected.loss.unwrap()).abs() < 1e-5, "{}: {loss}", case.objective);
        assert!(
            evaluation["far"].as_f64().unwrap() < 1e-5,
            "{} differentiates to something else",
            case.objective
        );
        for (name, key) in [("view_a", "gradA"), ("view_b", "gradB")] {
            let gradient: Vec<Vec<f64>> = serde_json::from_value(evaluation[key].clone()).unwrap();
            assert!(
                largest_difference(&gradient, &expected.gradients[name]) < 1e-4,
                "{} {name}",
                case.objective
            );
        }
    }
}

/// The README's program for a page, as a module beside the package and the checkpoint.
fn example() -> String {
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let (_, rest) = readme.split_once("```js\n").unwrap();
    let (program, _) = rest.split_once("```\n").unwrap();
    let (package, checkpoint) = ("\"simile-web\"", "\"model.safetensors\"");
    assert!(program.contains(package) && program.contains(checkpoint), "{program}");
    let program = program.replace(package, "\"/package/index.js\"");
    program.replace(checkpoint, &format!("\"/data/{}\"", Data::CHECKPOINT)) + "export { vector };\n"
}

/// Objectives on the same random views, with a continuous condition.
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

/// A program with the libraries that every page has, which checks the types of its packages too.
#[test]
fn the_types_of_the_package_need_no_other_library() {
    if !is_ready() {
        return;
    }
    let program = simile_tests::place();
    let package = program.path().join("node_modules/simile-web");
    std::fs::create_dir_all(&package).unwrap();
    for entry in std::fs::read_dir(workspace().join("web/pkg")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".d.ts") || name == "package.json" {
            std::fs::copy(&path, package.join(name)).unwrap();
        }
    }
    // A variant of the list of objectives is one of a setting.
    let main = r#"
import { Encoder, type ListedObjective, LossLab, type Setting, Trainer } from "simile-web";
export { Encoder, LossLab, Trainer };
export function settingOf(listed: ListedObjective): Setting {
  const { name: objective } = listed;
  const variant = "variants" in listed ? listed.variants[0] : undefined;
  return variant ? { objective, variant } : { objective };
}
"#;
    std::fs::write(program.path().join("main.ts"), main).unwrap();
    let options = json!({
        "lib": ["es2022", "dom"],
        "module": "esnext",
        "moduleResolution": "bundler",
        "noEmit": true,
        "skipLibCheck": false,
        "strict": true,
        "types": [],
    });
    let settings = json!({ "compilerOptions": options, "files": ["main.ts"] });
    std::fs::write(program.path().join("tsconfig.json"), settings.to_string()).unwrap();
    let compiler = workspace().join("web/node_modules/typescript/bin/tsc");
    let output = Command::new("node").arg(compiler).current_dir(program.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The files that `npm publish` uploads.
#[test]
fn the_archive_of_the_package_holds_what_a_page_loads() {
    if !is_ready() {
        return;
    }
    let package = workspace().join("web/pkg");
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let output =
        Command::new(npm).current_dir(&package).args(["pack", "--dry-run", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packed = &packed[0];
    assert_eq!(
        (&packed["name"], &packed["version"]),
        (&json!("simile-web"), &json!(env!("CARGO_PKG_VERSION")))
    );
    let files: BTreeSet<&str> =
        packed["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    for needed in
        ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "index.d.ts", "worker.js", "cpu.wasm", "webgpu.wasm"]
    {
        assert!(files.contains(needed), "{needed} is missing: {files:?}");
    }
    let kinds = ["js", "ts", "wasm", "json", "md"];
    let strange =
        |file: &&&str| !file.starts_with("LICENSE") && !kinds.iter().any(|kind| file.ends_with(kind));
    assert_eq!(files.iter().find(strange), None);
    // Modules, files and types that a file loads are there.
    let mut named = 0;
    for file in files.iter().filter(|file| file.ends_with(".js") || file.ends_with(".d.ts")) {
        let text = std::fs::read_to_string(package.join(file)).unwrap();
        let texts: Vec<&str> = text.split(['"', '\'']).collect();
        let loads = |before: &str| {
            ["from", "import", "import(", "URL("].iter().any(|word| before.trim_end().ends_with(word))
        };
        for name in
            texts.windows(2).filter(|pair| loads(pair[0])).filter_map(|pair| pair[1].strip_prefix("./"))
        {
            let types = name.replace(".js", ".d.ts");
            let is_packed = files.contains(name) || file.ends_with(".d.ts") && files.contains(types.as_str());
            assert!(is_packed, "{file} names {name}");
            named += 1;
        }
    }
    assert!(named > 10, "{named} files are named");
}
