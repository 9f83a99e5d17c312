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
        "package/alone-and-together.mjs",
        Where::Cpu,
        json!({ "networks": folders, "checkpoint": Data::CHECKPOINT, "images": networks[0].1.images }),
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
    let mut job = job(&data);
    job["cases"] = cases.clone();
    job["example"] = json!("example.js");
    let result = run("package/on-device.mjs", place, job);
    assert_eq!(result["loaded"], std::fs::metadata(data.path(Data::CHECKPOINT)).unwrap().len());

    let rows: Vec<Vec<f64>> = serde_json::from_value(result["rows"].clone()).unwrap();
    let expected = data.embed_natively();
    assert_eq!(rows.len(), IMAGES);
    let difference = largest_difference(&rows, &expected);
    println!("{}: largest difference to `simile embed` {difference:.1e}", place.name());
    assert!(difference < 1e-4, "{difference}");
    for (name, what) in [("example", "the README's example"), ("afterwards", "after a loss of the device")] {
        let row: Vec<f64> = serde_json::from_value(result[name].clone()).unwrap();
        assert!(largest_difference(&[row], &expected[..1]) < 1e-4, "{what}");
    }
    losses_are_those_of_core(&cases, &result["evaluations"]);
}

#[test]
fn calls_of_the_package_that_cannot_be_answered_say_why() {
    if is_ready() {
        run("package/calls.mjs", Where::Cpu, job(&Data::write()));
    }
}

#[test]
fn elements_are_waited_for_and_pictures_are_decoded_few_at_a_time() {
    if is_ready() {
        run("package/elements.mjs", Where::Cpu, job(&Data::write()));
    }
}

fn job(data: &Data) -> Value {
    json!({ "data": data.folder.path(), "checkpoint": Data::CHECKPOINT, "images": data.images })
}

/// Asserts that the losses and gradients of some cases are those of core.
fn losses_are_those_of_core(cases: &Value, evaluations: &Value) {
    for (case, evaluation) in cases.as_array().unwrap().iter().zip(evaluations.as_array().unwrap()) {
        let case = Request::parse(&case.to_string()).unwrap();
        let expected = case.evaluate(&Device::flex(), DType::F64, None).unwrap();
        let expected = pollster::block_on(expected.read()).unwrap();
        let loss = evaluation["loss"].as_f64().unwrap();
        assert!((loss - expected.loss.unwrap()).abs() < 1e-5, "{}: {loss}", case.objective);
        for (name, key) in [("view_a", "gradA"), ("view_b", "gradB")] {
            let gradient: Vec<Vec<f64>> = serde_json::from_value(evaluation[key].clone()).unwrap();
            let expected = Vec::from(expected.gradients[name].clone());
            assert!(largest_difference(&gradient, &expected) < 1e-4, "{} {name}", case.objective);
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
    check_types(&[("main.ts".to_owned(), main.to_owned())], true);
}

/// Names that the programs of the pages expect to be there.
const GIVEN: &str = "
declare const viewA: number[][], viewB: number[][], z: number[][], images: Blob[];
declare const vectorsA: { data: Float32Array; dims: [number, number] }, vectorsB: typeof vectorsA;
";

/// The program of the repository's README runs in `embeds_as_the_command_line_does`.
#[test]
fn the_programs_of_the_pages_have_the_types_of_the_package() {
    if !is_ready() {
        return;
    }
    let mut files = vec![("given.d.ts".to_owned(), GIVEN.to_owned())];
    for page in ["web/README.md", "docs/src/how-to/page.md"] {
        let programs = programs(page);
        assert!(!programs.is_empty(), "{page} has no program");
        let name = |at: usize| format!("{}-{}.ts", page.replace(['/', '.'], "-"), at + 1);
        files.extend(programs.into_iter().enumerate().map(|(at, program)| (name(at), program)));
    }
    // They use the element of `querySelector` without a check that there is one.
    check_types(&files, false);
}

/// The programs on a page of the documents: blocks of JavaScript or TypeScript, and the scripts in those of HTML.
fn programs(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join(page)).unwrap();
    let blocks = text.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let programs = blocks.filter_map(|(language, block)| match language {
        "js" | "ts" => Some(block),
        "html" => {
            let (_, script) = block.split_once("<script type=\"module\">").unwrap();
            Some(script.split_once("</script>").unwrap().0)
        }
        _ => None,
    });
    programs.map(|program| program.replace("./simile-web/index.js", "simile-web")).collect()
}

/// Checks files, each with its name, by the strict rules of TypeScript, with the types of the package and of no other library.
/// Without `minds_null`, `null` passes for any value.
fn check_types(files: &[(String, String)], minds_null: bool) {
    let folder = simile_tests::place();
    let package = folder.path().join("node_modules/simile-web");
    std::fs::create_dir_all(&package).unwrap();
    for entry in std::fs::read_dir(workspace().join("web/pkg")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".d.ts") || name == "package.json" {
            std::fs::copy(&path, package.join(name)).unwrap();
        }
    }
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let options = json!({
        "lib": ["es2022", "dom"],
        "module": "esnext",
        "moduleResolution": "bundler",
        "noEmit": true,
        "skipLibCheck": false,
        "strict": true,
        "strictNullChecks": minds_null,
        "types": [],
    });
    let names: Vec<&String> = files.iter().map(|(name, _)| name).collect();
    let settings = json!({ "compilerOptions": options, "files": names });
    std::fs::write(folder.path().join("tsconfig.json"), settings.to_string()).unwrap();
    let compiler = workspace().join("web/node_modules/typescript/bin/tsc");
    let output = Command::new("node").arg(compiler).current_dir(folder.path()).output().unwrap();
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
