//! Numbers that no run can use: each is refused or reported by its name, with a remedy.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use simile_tests::place;
use tempfile::TempDir;

use crate::support::pictures::tabled;
use crate::support::program::{complaint, json, stderr};
use crate::support::recipes::{Edited as _, place_with};
use crate::support::run::result;

const RECIPE: &str = r#"
[data]
dataset = "digits"
train = 48
test = 32

[train]
batch = 16
iterations = 2

[probe]
steps = 5

[objective]
name = "fair-cclk"
kernel = { name = "rbf", sigma = 20.0 }
"#;

#[test]
fn counts_beyond_memory_are_refused_before_anything_is_made() {
    let place = place_with("mine.toml", RECIPE);
    let moco = "variant.a.method={ name = \"moco\", queue = 100000000000 }";
    let alone = RECIPE.split("[objective]").next().unwrap();
    fs::write(
        place.path().join("variants.toml"),
        format!("{alone}\n[[variant]]\nname = \"a\"\nobjective = {{ name = \"moco\" }}\n"),
    )
    .unwrap();
    for (recipe, setting, key, remedy) in [
        ("mine.toml", "data.train=9223372036854775807", "`data.train`", "at most 1000000000000"),
        ("mine.toml", "data.train=1000000000000", "`data.train`", "of memory"),
        ("mine.toml", "data.test=100000000000", "`data.test`", "of memory"),
        ("mine.toml", "data.attributes.count=100000000000", "`data.attributes.count`", "of memory"),
        ("mine.toml", "train.batch=9223372036854775807", "`train.batch`", "at most 1000000000000"),
        ("mine.toml", "train.iterations=9223372036854775807", "`train.iterations`", "at most 1000000000000"),
        ("mine.toml", "probe.sgd.epochs=9223372036854775807", "`probe.sgd.epochs`", "at most 1000000000000"),
        ("mine.toml", "head.output=1000000", "`head.output`", "65536"),
        ("variants.toml", moco, "`method.queue`", "of memory"),
    ] {
        let text = complaint(place.path(), &["train", recipe, "--set", setting], 2);
        assert!(text.contains(key) && text.contains(remedy), "{setting}: {text}");
        assert!(!place.path().join("runs").exists(), "{setting}: a run was begun");
    }
    let clusters = "objective={ name = \"fair-info-nce\", clusters = 100 }";
    let text = complaint(place.path(), &["train", "mine.toml", "--set", clusters], 2);
    let reason = "`objective.clusters` is 100, expected 1 to 48, the number of images";
    assert!(text.contains(reason), "{text}");
    assert!(!place.path().join("runs").exists(), "a run was begun");
}

#[test]
fn numbers_that_are_none_are_refused_by_name_and_line() {
    let place = place_with("mine.toml", &RECIPE.edited("sigma = 20.0", "sigma = nan"));
    let text = complaint(place.path(), &["train", "mine.toml"], 2);
    assert!(
        text.contains("mine.toml, line 16") && text.contains("`objective.kernel.sigma` is NaN"),
        "{text}"
    );
    let place = place_with("mine.toml", RECIPE);
    for (setting, key) in [
        ("objective.kernel.sigma=nan", "`objective.kernel.sigma` is NaN"),
        ("objective.temperature=inf", "`objective.temperature` is inf"),
        ("train.ema=nan", "`train.ema` is NaN"),
        ("optimizer.clip_norm=-inf", "`optimizer.clip_norm` is -inf"),
        ("probe.ridge=nan", "`probe.ridge` is NaN"),
        ("data.normalise={ mean = [nan, 0.0, 0.0], std = [1.0, 1.0, 1.0] }", "`data.normalise.mean` is NaN"),
    ] {
        let text = complaint(place.path(), &["train", "mine.toml", "--set", setting], 2);
        assert!(text.contains(key) && text.contains("finite"), "{setting}: {text}");
    }
    assert!(!place.path().join("runs").exists(), "a run was begun");
}

#[test]
fn bounds_are_said_in_few_digits() {
    let place = place_with("mine.toml", RECIPE);
    for (setting, said) in [
        ("optimizer.weight_decay=-1.0", "`optimizer.weight_decay` is -1, expected a number from 0 to 3.4e38"),
        ("objective.lambda=1e300", "`lambda` is 1e300, expected a number from 1e-12 to 1e12"),
        ("objective.temperature=1e-320", "`temperature` is 1e-320, expected a number from 1e-12 to 1e12"),
    ] {
        let text = complaint(place.path(), &["train", "mine.toml", "--set", setting], 2);
        assert_eq!(text, format!("error: --set {setting}: {said}\n"));
    }
}

#[test]
fn a_batch_of_more_images_than_there_are_is_said() {
    let place = place_with("mine.toml", RECIPE);
    let text = stderr(
        place.path(),
        &["train", "mine.toml", "--out", "run", "--set", "train.batch=100000", "--set", "data.train=24"],
    );
    assert!(text.contains("`train.batch` is 100000 and there are 24 training images"), "{text}");
    assert!(text.contains("train.batch=24"), "{text}");
}

/// Pictures with a table of their ages.
fn table(ages: &[&str]) -> TempDir {
    let settings = "dataset = \"table\"\n\n[data.table]\ncsv = \"images.csv\"\nsplit = \"split\"\nconditions = { age = [\"age\"] }\n";
    let tail = &RECIPE[RECIPE.find("[train]").unwrap()..];
    let tail = tail.edited("batch = 16", "batch = 4").edited("[probe]", "[probe]\ncondition = \"age\"");
    let tail = tail.edited("kernel =", "condition = \"age\"\nkernel =");
    let place = place_with("mine.toml", &format!("[data]\n{settings}\n{tail}"));
    let row = |(at, age): (usize, &&str)| {
        let split = if at % 3 == 2 { "test" } else { "train" };
        format!("{},{split},{age}", ["ill", "well"][at / 3 % 2])
    };
    tabled(place.path(), "label,split,age", ages.iter().enumerate().map(row));
    place
}

const AGES: [&str; 12] = ["60", "31", "42", "55", "70", "23", "38", "49", "66", "58", "34", "45"];

#[test]
fn a_cell_that_spoils_a_column_is_named_by_file_line_and_cell() {
    for wrong in ["NaN", "inf", "1e300"] {
        let mut ages = AGES;
        ages[4] = wrong;
        let place = table(&ages);
        let text = complaint(place.path(), &["train", "mine.toml", "--data", "."], 1);
        let cell = format!("line 6: column `age` is `{wrong}`");
        assert!(text.contains("images.csv") && text.contains(&cell) && text.contains("repair"), "{text}");
        assert!(!place.path().join("runs").exists(), "a run was begun");
    }
    let mut ages = AGES;
    ages[7] = "abc";
    let place = table(&ages);
    let text = stderr(place.path(), &["data", "check", "mine.toml", "--data", "."]);
    assert!(text.contains("images.csv: line 9: column `age` is `abc`"), "{text}");
    assert!(text.contains("categorical") && text.contains("11 of 12 cells are numbers"), "{text}");
}

#[test]
fn what_a_run_with_large_values_writes_can_be_read() {
    let mut ages = AGES;
    (ages[1], ages[2]) = ("-9e99", "1e100");
    let place = table(&ages);
    stderr(place.path(), &["train", "mine.toml", "--data", ".", "--out", "run"]);
    let result = result(&place.path().join("run"));
    let metrics = result["arms"][0]["metrics"].as_object().unwrap();
    assert!(metrics["top1"].is_number() && metrics.values().all(Value::is_number), "{metrics:?}");
    stderr(place.path(), &["report", "run"]);
    let text = complaint(place.path(), &["train", "--resume", "run"], 2);
    assert!(text.contains("finished"), "{text}");
}

#[test]
fn a_section_that_a_recipe_lacks_can_be_set() {
    let place = place();
    let train = |set: &[&str], code: i32| {
        let set: Vec<&str> = set.iter().flat_map(|setting| ["--set", setting]).collect();
        complaint(place.path(), &[&["train", "fair-digits", "--smoke"], &set[..]].concat(), code)
    };
    let text = train(&["data.prior.model=other/model.safetensors"], 1);
    assert!(text.contains("other/model.safetensors") && !text.contains("unknown"), "{text}");
    let text = train(&["data.prior.modl=other"], 2);
    assert!(text.contains("did you mean `model`?"), "{text}");
    let text = train(&["data.priour.model=other"], 2);
    assert!(text.contains("did you mean `prior`?"), "{text}");
    let text = train(&["selection.patience=2"], 2);
    assert!(text.contains("selection.held_out"), "{text}");
    // Neither setting is valid without the other.
    let both = ["--set", "selection.patience=2", "--set", "selection.held_out=32", "--out", "chosen"];
    // `--arm` is the former name of `--variant`.
    stderr(place.path(), &[&["train", "fair-digits", "--smoke", "--arm", "Fair-CCLK"], &both[..]].concat());
    let text = train(&["data.features.file=a.npy"], 2);
    assert!(text.contains("data.features.file") && text.contains("paths"), "{text}");
}

fn case(place: &Path, objective: &str, params: Value, inputs: Value) {
    let case = json!({ "objective": objective, "params": params, "inputs": inputs });
    fs::write(place.join("case.json"), case.to_string()).unwrap();
}

#[test]
fn a_loss_that_is_no_number_is_an_error_that_names_the_input() {
    let place = place();
    let views =
        |size: f64| json!({ "view_a": [[size, 1.0], [1.0, 0.5]], "view_b": [[1.0, size], [0.25, 1.0]] });
    case(place.path(), "nt-xent", json!({ "temperature": 1e-320 }), views(1.0));
    let text = complaint(place.path(), &["loss", "case.json"], 2);
    assert!(text.contains("`temperature` is 1e-320") && text.contains("1e-12"), "{text}");
    case(place.path(), "nt-xent", json!({ "temperature": 0.5 }), views(1e300));
    let answer = json(place.path(), &["loss", "case.json"]);
    assert!(answer["loss"].is_number(), "{answer}");
    let logits = json!({ "logits": [[3e38, -3e38], [1.0, 2.0]], "labels": [1, 0] });
    case(place.path(), "cross-entropy", json!({}), logits);
    let text = complaint(place.path(), &["loss", "case.json", "--precision", "f32"], 1);
    assert!(text.contains("case.json") && text.contains("3e38 in `logits`"), "{text}");
    assert!(text.contains("double precision"), "{text}");
}

#[test]
fn settings_under_which_a_loss_says_nothing_are_said() {
    let place = place();
    let inputs = json!({
        "view_a": [[1.0, 2.0], [2.0, 1.0], [-1.0, 1.0]],
        "view_b": [[1.0, 1.0], [2.0, 2.0], [-1.0, 2.0]],
        "z": [1.0, 2.0, 4.0],
    });
    case(place.path(), "fair-cclk", json!({ "kernel": { "name": "rbf", "sigma": 1e-30 } }), inputs.clone());
    let text = stderr(place.path(), &["loss", "case.json"]);
    assert!(text.contains("kernel.sigma, which is 1e-30") && text.contains("median distance"), "{text}");
    case(place.path(), "fair-cclk", json!({ "lambda": 0.0 }), inputs);
    let text = complaint(place.path(), &["loss", "case.json"], 2);
    assert!(text.contains("`lambda` is 0") && text.contains("0.01"), "{text}");
}

#[test]
fn a_regression_without_a_penalty_is_refused_with_its_line() {
    let place = place_with("mine.toml", &RECIPE.edited("steps = 5", "steps = 5\nridge = 0"));
    let text = complaint(place.path(), &["train", "mine.toml"], 2);
    let expected = "mine.toml, line 13: `probe.ridge` has a penalty of 0, and `colour` is a number";
    assert!(text.contains(expected), "{text}");
    let set = ["train", "mine.toml", "--set", "probe.ridge=[0,1e-3]"];
    let text = complaint(place.path(), &set, 2);
    assert!(text.contains("--set probe.ridge=[0,1e-3]: `probe.ridge` has a penalty of 0"), "{text}");
    assert!(!place.path().join("runs").exists(), "no run has begun");
}

/// Decoding may take an hour; an unavailable precision is reported before it, here even before missing files.
#[test]
fn a_precision_that_the_network_lacks_is_refused_before_data_are_read() {
    let place = place_with(
        "mine.toml",
        &RECIPE
            .edited("\"digits\"", "\"colour-mnist\"")
            .edited("batch = 16", "batch = 16\nprecision = \"bf16\""),
    );
    let error = complaint(place.path(), &["train", "mine.toml", "--data", "."], 2);
    assert!(error.contains("mine.toml, line ") && error.contains("train.precision"), "{error}");
    assert!(error.contains("lenet5") && error.contains("take another encoder"), "{error}");
}

#[test]
fn an_attribute_that_the_data_lack_is_named_with_its_line_or_its_setting() {
    let place = place();
    let recipe = "[data]\ndataset = \"digits\"\ntrain = 64\ntest = 16\n\n[train]\nbatch = 16\niterations = 1\n\n[probe]\n\
        condition = \"hospital\"\n\n[[variant]]\nname = \"fair\"\n[variant.objective]\nname = \"fair-cclk\"\ncondition = \"scanner\"\n";
    fs::write(place.path().join("mine.toml"), recipe).unwrap();
    let text = complaint(place.path(), &["train", "mine.toml"], 2);
    assert!(text.contains("mine.toml, line 11: the data set has no attribute `hospital` to probe"), "{text}");
    let probed = ["train", "mine.toml", "--set", "probe.condition=colour"];
    let text = complaint(place.path(), &probed, 2);
    assert!(text.contains("mine.toml, line 17: variant `fair`: ") && text.contains("`scanner`"), "{text}");
    let set = "variant.fair.objective.condition=age";
    let text = complaint(
        place.path(),
        &[&probed[..], &["--set", "probe.also=[\"site\"]", "--set", set]].concat(),
        2,
    );
    assert!(text.contains("--set probe.also=[\"site\"]: the data set has no attribute `site`"), "{text}");
    let text = complaint(place.path(), &[&probed[..], &["--set", set]].concat(), 2);
    assert!(text.contains(&format!("--set {set}: variant `fair`: ")) && text.contains("`age`"), "{text}");
    assert!(!place.path().join("runs").exists(), "no run has begun");
}
