//! Vectors in files: those of a run as Parquet, which other programs open as it is, and probes of given ones.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{complaint, json, place, simile, stdout};

const RECIPE: &str = r#"
name = "small"

[data]
dataset = "digits"
train = 96
test = 60

[train]
batch = 32
iterations = 2

[probe]
steps = 5
condition = "colour"
also = ["palette"]

[objective]
name = "fair-cclk"
kernel = { name = "rbf", sigma = 100.0 }
"#;

/// A short run in `runs/small`.
fn run() -> tempfile::TempDir {
    run_of(RECIPE)
}

fn run_of(recipe: &str) -> tempfile::TempDir {
    let place = place();
    fs::write(place.path().join("small.toml"), recipe).unwrap();
    simile(place.path(), &["train", "small.toml"]).assert().success();
    place
}

/// The answer of a script of Python with these modules, which prints JSON; none where Python lacks them.
fn python(place: &Path, modules: &str, script: &str) -> Option<Value> {
    let python = simile_tests::python(modules)?;
    let output = Command::new(python).current_dir(place).args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_run_as_parquet_is_what_evaluate_probes() {
    // Vectors in files are probed with the usual number of steps.
    let place = run_of(&RECIPE.replace("steps = 5\n", ""));
    let answer = json(place.path(), &["embed", "runs/small", "--out", "embeddings.parquet", "--json"]);
    assert_eq!((answer["images"].as_u64(), answer["file"].as_str()), (Some(156), Some("embeddings.parquet")));
    let of_vectors =
        ["evaluate", "--vectors", "embeddings.parquet", "--condition", "colour", "--probe", "knn", "--json"];
    let of_vectors = json(place.path(), &of_vectors);
    let of_run = json(place.path(), &["evaluate", "runs/small", "--probe", "knn", "--json"]);
    let metrics = of_run["metrics"].as_object().unwrap();
    assert!(metrics.len() > 5 && metrics.contains_key("palette_top1"), "{metrics:?}");
    for (name, value) in metrics {
        let (value, value_of_vectors) =
            (value.as_f64().unwrap(), of_vectors["metrics"][name].as_f64().unwrap());
        assert!(
            (value - value_of_vectors).abs() < 1e-6 * value.abs().max(1.0),
            "{name}: {value} and {value_of_vectors}"
        );
    }
    let text = complaint(place.path(), &["embed", "runs/small", "--out", "vectors.npy"], 2);
    assert!(text.contains("--out FILE.parquet"), "{text}");
}

#[test]
fn many_neighbours_of_few_images_are_counted_and_doubted() {
    let place = run();
    let output = simile(place.path(), &["evaluate", "runs/small", "--probe", "knn"]).assert().success();
    let [told, answer] =
        [&output.get_output().stderr, &output.get_output().stdout].map(|text| String::from_utf8_lossy(text));
    assert!(told.contains("note: 96 neighbours of 96 training images vote"), "{told}");
    assert!(answer.contains("the 96 nearest neighbours by cosine"), "{answer}");
    let output = simile(place.path(), &["evaluate", "runs/small"]).assert().success();
    assert!(!String::from_utf8_lossy(&output.get_output().stderr).contains("neighbours"));
}

#[test]
fn an_empty_list_is_refused_and_an_empty_part_of_one_is_not() {
    let place = run();
    stdout(place.path(), &["data", "preview", "digits", "--out", "a.png", "--count", "1"]);
    fs::write(place.path().join("none.txt"), "\n\n").unwrap();
    fs::write(place.path().join("one.txt"), "a.png\n").unwrap();
    let embed = |list| ["embed", "runs/small", "--list", list, "--out", "v.csv"];
    let text = complaint(place.path(), &embed("none.txt"), 2);
    assert!(text.contains("none.txt names no pictures"), "{text}");
    assert!(!place.path().join("v.csv").exists());
    stdout(place.path(), &[&embed("one.txt")[..], &["--shard", "0/2"]].concat());
    assert!(place.path().join("v.csv").exists());
}

#[test]
fn duckdb_and_pandas_open_a_run_as_it_is() {
    let place = run();
    stdout(place.path(), &["embed", "runs/small", "--out", "embeddings.parquet"]);
    let dimensions =
        json(place.path(), &["embed", "runs/small", "--out", "embeddings.parquet", "--json"])["dimensions"]
            .as_u64()
            .unwrap();
    if let Some(answer) = python(
        place.path(),
        "duckdb",
        "import duckdb, json\n\
         print(json.dumps(duckdb.sql(\"SELECT split, count(*), min(len(vector)), max(len(vector)), count(DISTINCT class), \
         min(len(colour)) FROM 'embeddings.parquet' GROUP BY split ORDER BY split\").fetchall()))",
    ) {
        let of = |split: &str, count: u64| serde_json::json!([split, count, dimensions, dimensions, 10, 3]);
        assert_eq!(answer, serde_json::json!([of("test", 60), of("train", 96)]));
    }
    if let Some(answer) = python(
        place.path(),
        "pandas, pyarrow, numpy",
        "import json, numpy, pandas\n\
         table = pandas.read_parquet('embeddings.parquet')\n\
         vectors = numpy.stack(table.vector)\n\
         print(json.dumps([list(table.columns), list(vectors.shape), str(vectors.dtype), bool(numpy.isfinite(vectors).all())]))",
    ) {
        assert_eq!(
            answer,
            serde_json::json!([
                ["index", "split", "class", "colour", "palette", "x", "y", "vector"],
                [156, dimensions],
                "float32",
                true
            ])
        );
    }
}

#[test]
fn parts_of_vectors_are_probed_as_the_whole() {
    let place = run();
    let mut lines = String::from("file,label,split,hospital\n");
    let mut list = String::new();
    for at in 0..150_u32 {
        let file = format!("{at}.png");
        image::RgbImage::from_fn(32, 32, |x, y| image::Rgb([(x * at) as u8, (y * 7) as u8, at as u8]))
            .save(place.path().join(&file))
            .unwrap();
        let split = if at % 3 == 0 { "test" } else { "train" };
        lines += &format!("{file},{},{split},{}\n", at % 2, ["north", "south"][at as usize / 2 % 2]);
        list += &format!("{file}\n");
    }
    fs::write(place.path().join("table.csv"), lines).unwrap();
    fs::write(place.path().join("list.txt"), list).unwrap();
    let embed = |more: &[&str]| {
        let arguments = [&["embed", "runs/small", "--list", "list.txt"], more].concat();
        stdout(place.path(), &arguments);
    };
    let probed = |files: &[&str]| {
        let arguments = [&["evaluate", "--json", "--table", "table.csv", "--vectors"], files].concat();
        let mut answer = json(place.path(), &arguments);
        answer["model"] = Value::Null;
        answer
    };
    embed(&["--out", "whole.npy"]);
    let whole = probed(&["whole.npy"]);
    assert!(whole["metrics"]["condition_top1"].is_number() && whole["condition"] == "hospital", "{whole}");
    for format in ["npy", "csv", "parquet"] {
        let files = [0, 1, 2].map(|part| format!("part-{part}.{format}"));
        for (part, file) in files.iter().enumerate() {
            embed(&["--shard", &format!("{part}/3"), "--out", file]);
        }
        assert_eq!(probed(&files.each_ref().map(String::as_str)), whole, "{format}");
    }
    let text = complaint(
        place.path(),
        &["evaluate", "--table", "table.csv", "--vectors", "part-1.csv", "part-0.csv", "part-2.csv"],
        2,
    );
    assert!(text.contains("same order"), "{text}");
}
