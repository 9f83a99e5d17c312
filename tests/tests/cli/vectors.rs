//! Vectors in files: those of a run as Parquet, which other programs open as it is, and probes of given ones.

use std::fs;
use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};
use simile_core::eval::penalty::{ChosenProbe, ChosenProbeConfig};
use simile_core::eval::probe::ProbeTargets;
use simile_core::eval::regression::RegressionReport;
use simile_core::eval::standardise::Standardise;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::FeatureTable;
use simile_tests::{place, python};
use tempfile::TempDir;

use crate::support::pictures::tabled;
use crate::support::program::{complaint, json, simile, stderr, stderr_of, stdout, stdout_of};
use crate::support::python::answer;
use crate::support::recipes::{Edited as _, place_with};

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
fn run() -> TempDir {
    run_of(RECIPE)
}

fn run_of(recipe: &str) -> TempDir {
    let place = place_with("small.toml", recipe);
    simile(place.path(), &["train", "small.toml"]).assert().success();
    place
}

#[test]
fn a_run_as_parquet_is_what_evaluate_probes() {
    // Vectors in files are probed with the usual number of steps.
    let place = run_of(&RECIPE.edited("steps = 5\n", ""));
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
    // Its images are drawn, so that a mistyped folder would go unsaid.
    for command in [
        &["evaluate", "runs/small"][..],
        &["evaluate", "runs/small", "--on", "digits"],
        &["embed", "runs/small", "--out", "b.parquet"],
    ] {
        let text = complaint(place.path(), &[command, &["--data", "nope"]].concat(), 2);
        assert!(text.contains("--data names nope, which is not there"), "{text}");
        let text = complaint(place.path(), &[command, &["--data", "runs"]].concat(), 2);
        assert!(text.contains("--data names runs, which would not be read"), "{text}");
    }
}

#[test]
fn many_neighbours_of_few_images_are_counted_and_doubted() {
    let place = run();
    let output = simile(place.path(), &["evaluate", "runs/small", "--probe", "knn"]).assert().success();
    let (told, answer) = (stderr_of(output.get_output()), stdout_of(output.get_output()));
    assert!(told.contains("note: 96 nearest neighbours vote, more than the "), "{told}");
    assert!(answer.contains("the 96 nearest neighbours by cosine"), "{answer}");
    assert!(!stderr(place.path(), &["evaluate", "runs/small"]).contains("neighbours"));
}

/// Writes vectors of two numbers as `v.csv`, and a row for each in `table.csv`.
fn write_vectors(place: &Path, rows: usize, header: &str, row: &dyn Fn(usize) -> String) {
    let vectors: String = (0..rows).map(|at| format!("{at},{},{}\n", at % 7, at * at % 11)).collect();
    fs::write(place.join("v.csv"), format!("id,v0,v1\n{vectors}")).unwrap();
    let table: String = (0..rows).map(|at| format!("{}\n", row(at))).collect();
    fs::write(place.join("table.csv"), format!("{header}\n{table}")).unwrap();
}

const OF_VECTORS: [&str; 5] = ["evaluate", "--vectors", "v.csv", "--table", "table.csv"];

#[test]
fn accuracies_are_those_of_the_test_rows() {
    let place = place();
    // Vectors of two kinds. Each is of one class in the rows to train on; five of the twenty to test on are of the other class.
    let vectors: String = (0..60).map(|at| format!("{at},{},{}\n", at % 2, 1 - at % 2)).collect();
    fs::write(place.path().join("v.csv"), format!("id,v0,v1\n{vectors}")).unwrap();
    let row = |at: usize| match at {
        0..40 => format!("{},train\n", ["a", "b"][at % 2]),
        _ => format!("{},test\n", ["a", "b"][(at + usize::from(at.is_multiple_of(4))) % 2]),
    };
    fs::write(
        place.path().join("table.csv"),
        format!("label,split\n{}", (0..60).map(row).collect::<String>()),
    )
    .unwrap();
    for probe in ["linear", "knn"] {
        let metrics =
            json(place.path(), &[&OF_VECTORS[..], &["--probe", probe, "--json"]].concat())["metrics"].clone();
        // All five of `a` are right, and ten of the fifteen of `b`.
        for (metric, expected) in
            [("top1", 0.75), ("class_worst", 2.0 / 3.0), ("class_mean", (1.0 + 2.0 / 3.0) / 2.0)]
        {
            let value = metrics[metric].as_f64().unwrap();
            assert!((value - expected).abs() < 1e-9, "{probe}: {metric} is {value}, expected {expected}");
        }
    }
}

/// No public function of core gave the leak that the command prints.
#[test]
fn core_gives_the_leak_and_the_accuracy_that_evaluate_prints() {
    let place = place();
    let age = |at: usize| 20.5 + 3.0 * (at % 7) as f64 + at as f64 / 8.0;
    write_vectors(place.path(), 60, "label,age,split", &|at| {
        format!("{},{},{}", ["a", "b"][at % 2], age(at), if at < 40 { "train" } else { "test" })
    });
    let answer = json(place.path(), &[&OF_VECTORS[..], &["--condition", "age", "--json"]].concat());

    let vectors = |rows: Range<usize>| {
        let numbers = rows.clone().flat_map(|at| [(at % 7) as f32, (at * at % 11) as f32]);
        FeatureTable::new(rows.len(), 2, numbers.collect()).unwrap()
    };
    let (train, test) = (vectors(0..40), vectors(40..60));
    let scale = Standardise::fit(&train).unwrap();
    let fit = |targets: &ProbeTargets| {
        ChosenProbeConfig::default().fit(&scale.of(&train).unwrap(), targets, None).unwrap()
    };
    let is_printed = |chosen: &ChosenProbe, probe: &str, metric: &str, value: f64| {
        let fit = json!({ "ridge": chosen.penalty, "held_out": chosen.held_out });
        assert_eq!(answer["probes"][probe], fit, "{probe}");
        let printed = answer["metrics"][metric].as_f64().unwrap();
        assert!((printed - value).abs() < 1e-12, "{metric} is {printed}, and {value} by core");
    };
    let ages = Matrix::from_fn(60, 1, |at, _| age(at));
    let ages_of = |rows: Range<usize>| ages.select(&rows.collect::<Vec<_>>());
    let leak = fit(&ProbeTargets::Values(ages_of(0..40)));
    let predicted = leak.probe.scores(&scale.of(&test).unwrap()).unwrap();
    let r2 = RegressionReport::of(&predicted, &ages_of(40..60)).unwrap().r2.unwrap();
    is_printed(&leak, "condition", "condition_r2", r2);

    let classes_of = |rows: Range<usize>| {
        let labels = rows.map(|at| at % 2).collect();
        ProbeTargets::Classes { labels, classes: 2 }
    };
    let class = fit(&classes_of(0..40));
    let errors = class.probe.errors(&scale.of(&test).unwrap(), &classes_of(40..60)).unwrap();
    is_printed(&class, "class", "top1", 1.0 - errors.iter().sum::<f64>() / 20.0);
}

/// The stderr of a command on 40 vectors to train on and 20 to test on, of these classes and sites.
fn said_of(place: &Path, class_and_site: &dyn Fn(usize) -> [&'static str; 2], rest: &[&str]) -> String {
    write_vectors(place, 60, "label,site,split", &|at| {
        let [class, site] = class_and_site(at);
        format!("{class},{site},{}", if at < 40 { "train" } else { "test" })
    });
    stderr(place, &[&OF_VECTORS[..], rest].concat())
}

#[test]
fn what_probes_of_vectors_cannot_measure_is_said() {
    let place = place();
    let two = |at: usize| ["a", "b"][at % 2];
    let site = |at: usize| ["north", "south"][at / 2 % 2];
    let of_site = |test: &dyn Fn(usize) -> &'static str| {
        let row = |at: usize| [two(at), if at < 40 { site(at) } else { test(at) }];
        said_of(place.path(), &row, &["--condition", "site"])
    };
    let sound = of_site(&site);
    assert!(!sound.contains("warning"), "{sound}");
    let all = of_site(&|_| "new");
    assert!(
        all.contains(
            "warning: no training vector has the `site` of any test vector, such as new; its leak cannot"
        ) && all.contains("name another with --condition"),
        "{all}"
    );
    let some = of_site(&|at| if at < 50 { "new" } else { "north" });
    assert!(
        some.contains("warning: 10 of 20 test vectors have a value of `site` that no training vector has"),
        "{some}"
    );
    let same = of_site(&|_| "north");
    assert!(same.contains("warning: `site` is north in all 20 test vectors; its leak cannot"), "{same}");
    let one = said_of(place.path(), &|at| [two(at), "north"], &["--condition", "site"]);
    assert!(one.contains("warning: `site` is north in all 40 training vectors"), "{one}");
    let class = said_of(place.path(), &|at| [if at < 40 { two(at) } else { "c" }, site(at)], &[]);
    assert!(
        class.contains("warning: no training vector has the class of any test vector, such as c"),
        "{class}"
    );
}

/// The command was refused, with advice on a key of recipes, which it does not read.
#[test]
fn a_column_whose_results_would_have_the_names_of_those_on_another_is_left_out() {
    let place = place();
    write_vectors(place.path(), 60, "label,site,age,age_nonlinear,split", &|at| {
        let (class, site) = (["a", "b"][at % 2], ["north", "south"][at / 2 % 2]);
        let age = 20.5 + (at % 7) as f64 + at as f64 / 8.0;
        format!("{class},{site},{age},{},{}", age * age, if at < 40 { "train" } else { "test" })
    });
    let of_site = [&OF_VECTORS[..], &["--condition", "site"]].concat();
    let said = stderr(place.path(), &of_site);
    assert!(said.contains("note: `age_nonlinear` is not probed") && said.contains("rename one"), "{said}");
    let metrics = json(place.path(), &[&of_site[..], &["--json"]].concat())["metrics"].clone();
    assert!(metrics["age_r2"].is_number() && metrics["age_r2_nonlinear"].is_number(), "{metrics}");
    assert!(metrics["age_nonlinear_r2"].is_null(), "{metrics}");
}

#[test]
fn many_neighbours_lean_towards_no_class_where_all_are_as_frequent() {
    let place = place();
    let site = |at: usize| ["north", "south"][at / 2 % 2];
    let even = said_of(place.path(), &|at| [["a", "b"][at % 2], site(at)], &["--probe", "knn"]);
    let expected = "note: 40 nearest neighbours vote, more than the 20 training vectors of the smallest class, so vectors of other \
                    classes always vote too";
    assert!(even.contains(expected) && !even.contains("favour"), "{even}");
    let uneven =
        said_of(place.path(), &|at| [if at % 3 == 0 { "a" } else { "b" }, site(at)], &["--probe", "knn"]);
    assert!(uneven.contains("so predictions favour frequent classes"), "{uneven}");
}

#[test]
fn vectors_of_one_class_or_one_row_are_refused_with_their_file() {
    let place = place();
    write_vectors(place.path(), 60, "label,site", &|at| format!("a,{}", ["north", "south"][at % 2]));
    let text = complaint(place.path(), &OF_VECTORS, 2);
    assert!(text.contains("table.csv: the column of the class, `label`, is `a` in all 60 rows"), "{text}");
    write_vectors(place.path(), 1, "label,site", &|_| "a,north".into());
    let text = complaint(place.path(), &OF_VECTORS, 2);
    assert!(text.contains("table.csv: at least 2 rows are needed"), "{text}");
    write_vectors(place.path(), 60, "label,split", &|at| {
        if at < 40 { "a,train".into() } else { format!("{},test", ["a", "b"][at % 2]) }
    });
    for probe in ["linear", "knn"] {
        let text = complaint(place.path(), &[&OF_VECTORS[..], &["--probe", probe]].concat(), 2);
        assert!(text.contains("all 40 training vectors are of the class `a`; a classifier needs"), "{text}");
    }
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
    let embed = ["embed", "runs/small", "--out", "embeddings.parquet"];
    stdout(place.path(), &embed);
    let dimensions = json(place.path(), &[&embed[..], &["--json"]].concat())["dimensions"].as_u64().unwrap();
    if let Some(python) = python("duckdb") {
        let program = "import duckdb, json\n\
             print(json.dumps(duckdb.sql(\"SELECT split, count(*), min(len(vector)), max(len(vector)), count(DISTINCT class), \
             min(len(colour)) FROM 'embeddings.parquet' GROUP BY split ORDER BY split\").fetchall()))";
        let of = |split: &str, count: u64| json!([split, count, dimensions, dimensions, 10, 3]);
        let expected = json!([of("test", 60), of("train", 96)]);
        assert_eq!(answer(&python, place.path(), program, &[]), expected);
    }
    if let Some(python) = python("pandas, pyarrow, numpy") {
        let program = "import json, numpy, pandas\n\
             table = pandas.read_parquet('embeddings.parquet')\n\
             vectors = numpy.stack(table.vector)\n\
             print(json.dumps([list(table.columns), list(vectors.shape), str(vectors.dtype), bool(numpy.isfinite(vectors).all())]))";
        let columns = ["index", "split", "class", "colour", "palette", "x", "y", "vector"];
        let expected = json!([columns, [156, dimensions], "float32", true]);
        assert_eq!(answer(&python, place.path(), program, &[]), expected);
    }
}

#[test]
fn parts_of_vectors_are_probed_as_the_whole() {
    let place = run();
    let row = |at: usize| {
        let split = if at.is_multiple_of(3) { "test" } else { "train" };
        format!("{},{split},{}", at % 2, ["north", "south"][at / 2 % 2])
    };
    tabled(place.path(), "label,split,hospital", (0..150).map(row));
    fs::rename(place.path().join("images.csv"), place.path().join("table.csv")).unwrap();
    let list: String = (0..150).map(|at| format!("{at}.png\n")).collect();
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
    only_names_tell_the_order_of_parts(place.path());
}

/// `part-0`, `part-1` and `part-2` as CSV, which has names, and as NPY, which has none.
fn only_names_tell_the_order_of_parts(place: &Path) {
    let probe = |files: &[&'static str]| [&["evaluate", "--table", "table.csv", "--vectors"], files].concat();
    let text = complaint(place, &probe(&["part-1.csv", "part-0.csv", "part-2.csv"]), 2);
    assert!(text.contains("same order"), "{text}");
    let said = |files: &[&'static str]| stderr(place, &probe(files));
    let text = said(&["part-0.npy", "part-1.npy", "part-2.npy"]);
    let note =
        "note: part-0.npy has no names: its first vector is taken for that of 0.png, row 1 of table.csv";
    assert!(text.contains(note) && text.matches("has no names").count() == 1, "{text}");
    assert!(!said(&["part-0.csv", "part-1.csv", "part-2.csv"]).contains("has no names"));
    let part = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    let numbered = |(at, line): (usize, &str)| match at {
        0 => format!("{line}\n"),
        _ => format!("{},{}\n", at - 1, line.split_once(',').unwrap().1),
    };
    let second: String = part("part-1.csv").lines().enumerate().map(numbered).collect();
    fs::write(place.join("numbered.csv"), second).unwrap();
    let text = said(&["part-0.csv", "numbered.csv", "part-2.csv"]);
    let before = part("part-0.csv").lines().count() - 1;
    let note = format!(
        "note: numbered.csv has no names: its first vector is taken for that of {before}.png, row {} of table.csv",
        before + 1
    );
    assert!(text.contains(&note) && text.matches("has no names").count() == 1, "{text}");
}
