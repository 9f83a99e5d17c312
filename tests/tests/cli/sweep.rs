//! `simile sweep`.

use std::fs;

use serde_json::{Value, json};
use simile_tests::place;

#[cfg(unix)]
use crate::support::process::{end, start, wait_until};
use crate::support::program::{complaint, json, simile, stdout};
use crate::support::recipes::with_one;
#[cfg(unix)]
use crate::support::run::iterations;
use crate::support::scans::scans;

const OUT: &str = "swept";

const TINY: [&str; 10] = [
    "--set",
    "data.train=96",
    "--set",
    "data.test=40",
    "--set",
    "data.validation=32",
    "--set",
    "train.iterations=2",
    "--set",
    "probe.steps=5",
];

/// A sweep of small runs, with batches of 16 images unless the grid has others.
fn sweep<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let has_batches = rest.iter().any(|word| word.starts_with("train.batch="));
    let batch: &[&str] = if has_batches { &[] } else { &["--set", "train.batch=16"] };
    [&["sweep", "fair-digits", "--device", "cpu", "--out", OUT], &TINY[..], batch, rest].concat()
}

#[test]
fn a_grid_is_tried_named_and_not_tried_twice() {
    let place = place();
    let grid = [
        "--grid",
        "variant.Fair-CCLK.objective.lambda=0.01,1",
        "--grid",
        "optimizer.learning_rate=1e-3,1e-2",
    ];
    // The former name of the option.
    let arguments = sweep(&[&["--arm", "Fair-CCLK", "--json"], &grid[..]].concat());
    let answer = json(place.path(), &arguments);
    let points = answer["points"].as_array().unwrap();
    assert_eq!((points.len(), &answer["grid"], &answer["arm"]), (4, &4.into(), &"Fair-CCLK".into()));
    let means: Vec<f64> = points.iter().map(|p| p["metrics"]["top1"]["mean"].as_f64().unwrap()).collect();
    assert!(means.is_sorted_by(|a, b| a >= b), "the best comes first: {means:?}");
    // A probe of 32 held-out images, not of the 40 test images: the accuracy counts in 32nds.
    assert!(means.iter().all(|mean| (mean * 32.0).fract() == 0.0), "{means:?}");

    let out = place.path().join(OUT);
    let html = fs::read_to_string(out.join("sweep.html")).unwrap();
    assert!(html.contains("<svg") && html.contains("Best by validation") && !html.contains("src=\"http"));
    let csv = fs::read_to_string(out.join("sweep.csv")).unwrap();
    assert!(csv.starts_with("variant.Fair-CCLK.objective.lambda,optimizer.learning_rate,metric,seed,value"));
    assert!(
        fs::read_to_string(out.join("sweep.md"))
            .unwrap()
            .contains("simile train fair-digits --variant Fair-CCLK")
    );
    let model = out.join("objective.lambda=0.01,optimizer.learning_rate=1e-2/seed-0/model.safetensors");
    let written = || fs::metadata(&model).unwrap().modified().unwrap();
    let before = written();
    let wider = [&arguments[..], &["--seeds", "2"]].concat();
    let again = json(place.path(), &wider);
    assert_eq!(written(), before, "finished runs are kept");
    assert_eq!(again["points"][0]["metrics"]["top1"]["values"].as_array().unwrap().len(), 2);
}

#[test]
fn some_points_are_drawn_and_the_lowest_leak_can_be_asked_for() {
    let place = place();
    let rest = ["--variant", "SimCLR", "--grid", "objective_=1"];
    let text = complaint(place.path(), &sweep(&rest), 2);
    assert!(text.contains("unknown key `objective_`"), "{text}");
    let rest =
        ["--variant", "SimCLR", "--grid", "optimizer.learning_rate=1e-4,1e-3,1e-2,1e-1", "--random", "2"];
    let answer =
        json(place.path(), &sweep(&[&rest[..], &["--by", "condition_r2", "--lowest", "--json"]].concat()));
    let points = answer["points"].as_array().unwrap();
    assert_eq!((points.len(), &answer["grid"]), (2, &4.into()));
    let leak = |at: usize| points[at]["metrics"]["condition_r2"]["mean"].as_f64().unwrap();
    assert!(leak(0) <= leak(1));
    let text = fs::read_to_string(place.path().join(OUT).join("sweep.md")).unwrap();
    assert!(text.contains("Leak of colour, R²"), "{text}");
}

/// A recipe has two objectives; another can replace one of them, and is searched over the same settings.
#[test]
fn any_objective_is_searched_over_the_same_grid() {
    let place = place();
    for (name, objective) in [
        ("InfoNCE", "{ name = \"info-nce\" }"),
        ("Fair-InfoNCE", "{ name = \"fair-info-nce\", condition = \"colour\", clusters = 4 }"),
    ] {
        let renamed = format!("variant.SimCLR.name={name}");
        let objective = format!("variant.{name}.objective={objective}");
        let temperatures = format!("variant.{name}.objective.temperature=0.1,0.5");
        let grid = ["--grid", &temperatures, "--grid", "augment.crop.scale=[0.08,1.0],[0.3,1.0]"];
        let rest =
            [&["--set", &renamed, "--set", &objective, "--variant", name, "--json"], &grid[..]].concat();
        let mut arguments = sweep(&rest);
        arguments.iter_mut().filter(|word| **word == OUT).for_each(|word| *word = name);
        let answer = json(place.path(), &arguments);
        assert_eq!((&answer["arm"], answer["points"].as_array().unwrap().len()), (&name.into(), 4));
        let best = answer["best"].as_str().unwrap();
        assert!(best.contains(&renamed) && best.contains("augment.crop.scale="), "{best}");
    }
}

#[test]
fn a_metric_that_no_run_measures_ends_a_sweep_before_anything_is_trained() {
    let place = place();
    let rest = ["--variant", "SimCLR", "--grid", "optimizer.learning_rate=1e-3,1e-2", "--json"];
    let refused = |by| complaint(place.path(), &sweep(&[&rest[..], &["--by", by]].concat()), 2);
    let text = refused("top_1");
    assert!(text.contains("--by top_1: no run has this metric; did you mean `top1`?"), "{text}");
    assert!(text.contains("condition_r2") && !place.path().join(OUT).exists(), "{text}");
    let text = refused("place_top1");
    assert!(
        text.contains("no run measures `place_top1`; choose --by one of") && text.contains(" top1"),
        "{text}"
    );
    assert!(!place.path().join(OUT).exists(), "no run has begun");
    let points = &json(place.path(), &sweep(&rest))["points"];
    assert_eq!(points.as_array().unwrap().len(), 2);
}

#[test]
fn a_bound_on_a_leak_that_no_run_measures_ends_a_sweep_before_anything_is_trained() {
    let place = place();
    scans(place.path(), 60);
    stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    let sweep =
        ["sweep", "scans.toml", "--data", "scans", "--device", "cpu", "--variant", "plain", "--smoke"];
    let bound = ["--grid", "train.batch=8,16", "--set", "data.validation=12", "--leak-at-most", "0.5"];
    let without = ["--set", "data.table.conditions={}", "--out", OUT];
    let text = complaint(place.path(), &[&sweep[..], &bound, &without].concat(), 2);
    assert!(text.contains("no run measures a leak") && text.contains("probe.condition=NAME"), "{text}");
    assert!(!place.path().join(OUT).exists(), "no run has begun");
}

#[test]
fn test_images_choose_nothing() {
    let place = place();
    let rest = ["sweep", "fair-digits", "--variant", "SimCLR", "--grid", "train.batch=16,32"];
    assert!(complaint(place.path(), &rest, 2).contains("--set data.validation="));
    let text = complaint(place.path(), &[&rest[..], &["--leak-at-most", "50"]].concat(), 2);
    assert!(text.contains("a share or an R², from 0 to 1, such as 0.5"), "{text}");
    assert!(!place.path().join("runs").exists(), "nothing was begun");
}

/// The proposed command judged by a split that these data do not have.
#[test]
fn the_best_point_on_data_without_test_images_is_judged_on_their_validation_images() {
    let place = place();
    scans(place.path(), 60);
    let table = place.path().join("scans/images.csv");
    let split = |at: usize| match at {
        0 => "split",
        at if at % 3 == 0 => "val",
        _ => "train",
    };
    let rows = fs::read_to_string(&table).unwrap();
    let rows = rows.lines().enumerate().map(|(at, line)| format!("{line},{}\n", split(at)));
    fs::write(&table, rows.collect::<String>()).unwrap();
    stdout(place.path(), &["init", "scans", "--hide", "hospital"]);
    let sweep = ["sweep", "scans.toml", "--data", "scans", "--device", "cpu", "--variant", "plain"];
    let grid = ["--grid", "train.batch=8,16", "--json"];
    let swept = |rest: &[&str]| {
        let short = ["--set", "train.iterations=2", "--set", "probe.steps=2"];
        let answer = json(place.path(), &[&sweep[..], &grid, &short, rest].concat());
        answer["best"].as_str().unwrap().to_owned()
    };
    let said = |out: &str| fs::read_to_string(place.path().join(out).join("sweep.md")).unwrap();
    let best = swept(&["--out", "again"]);
    assert!(!best.contains("judged_by"), "{best}");
    assert!(said("again").contains("which chose the settings"), "{}", said("again"));
    let best = swept(&["--out", "apart", "--set", "data.validation=12"]);
    assert!(said("apart").contains("On the validation images, because"), "{}", said("apart"));
    let words: Vec<&str> = best.split(' ').skip(1).chain(["--smoke", "--out", "best"]).collect();
    let answer = json(place.path(), &[&words[..], &["--json"]].concat());
    let protocol = answer["arms"][0]["protocol"].as_str().unwrap();
    assert!(protocol.contains("measured on 20 validation images"), "{best}: {protocol}");

    // A smoke test has a folder of its own, and compares nothing.
    let answer = json(place.path(), &[&sweep[..], &grid, &["--smoke"]].concat());
    assert_eq!((&answer["smoke"], &answer["best"]), (&true.into(), &"".into()));
    let smoke = said("runs/sweep-scans-smoke");
    assert!(smoke.contains("This was a smoke test") && !smoke.contains("simile train"), "{smoke}");
    assert!(!place.path().join("runs/sweep-scans").exists());
}

#[test]
fn runs_at_a_time_give_the_same_numbers_in_the_same_order() {
    let place = place();
    let rest = ["--variant", "Fair-CCLK", "--grid", "train.batch=8,16,24", "--set", "train.iterations=30"];
    let points = |jobs: &'static str, out: &'static str| {
        let mut arguments = [&sweep(&rest)[..], &["--jobs", jobs, "--json"]].concat();
        arguments.iter_mut().filter(|word| **word == OUT).for_each(|word| *word = out);
        let answer = json(place.path(), &arguments);
        let metrics = |point: &Value| (point["settings"].clone(), point["metrics"].clone());
        answer["points"].as_array().unwrap().iter().map(metrics).collect::<Vec<_>>()
    };
    assert_eq!(points("1", "one"), points("3", "three"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_goes_on_with_the_same_command() {
    let place = place();
    let rest = ["--variant", "SimCLR", "--grid", "train.batch=16,24", "--set", "train.iterations=200"];
    let arguments = [&sweep(&rest)[..], &["--set", "train.checkpoint_every=2"]].concat();
    let mut child = start(place.path(), &arguments);
    let first = place.path().join("swept/train.batch=16/seed-0");
    wait_until(&mut child, "a checkpoint", || iterations(&first, "SimCLR") > 0);
    assert_eq!(end(child, "-INT").0, Some(130));
    assert!(!first.join("result.json").exists());
    let before = iterations(&first, "SimCLR");
    let by_absent = [&arguments[..], &["--by", "place_top1"]].concat();
    let text = complaint(place.path(), &by_absent, 2);
    assert!(text.contains("no run measures `place_top1`; choose --by one of"), "{text}");
    assert_eq!(
        iterations(&first, "SimCLR"),
        before,
        "a metric that no run has is refused before a run goes on"
    );
    simile(place.path(), &arguments).assert().success();
    assert!(first.join("result.json").exists() && place.path().join("swept/sweep.json").exists());
}

#[test]
fn a_point_that_diverges_is_a_row_that_says_so_also_the_second_time() {
    let place = place();
    let rest = [
        "--variant",
        "SimCLR",
        "--set",
        "optimizer={ name = \"sgd\" }",
        "--grid",
        "optimizer.learning_rate=1e-3,1e30",
        "--set",
        "train.checkpoint_every=1",
        "--set",
        "train.iterations=6",
        "--json",
    ];
    for time in ["first", "second"] {
        let answer = json(place.path(), &sweep(&rest));
        let points = answer["points"].as_array().unwrap();
        let rate = |at: usize| points[at]["settings"]["optimizer.learning_rate"].as_str().unwrap().to_owned();
        assert_eq!((rate(0), rate(1)), ("1e-3".into(), "1e30".into()), "{time}");
        assert!(points[0]["diverged"].is_null() && points[0]["metrics"]["top1"]["mean"].is_number());
        assert_eq!(points[1]["metrics"], json!({}), "{time}: its numbers are of no use");
        let message = points[1]["diverged"][0]["message"].as_str().unwrap();
        assert!(message.contains("finite") || message.contains("NaN"), "{message}");
        assert!(answer["best"].as_str().unwrap().contains("1e-3"));
        for file in ["sweep.md", "sweep.html"] {
            let text = fs::read_to_string(place.path().join(OUT).join(file)).unwrap();
            assert!(text.contains("diverged") && text.contains("Best by validation"), "{time}, {file}");
        }
    }
    // With a single setting, none is marked as best.
    let only =
        rest.map(|word| if word.ends_with("=1e-3,1e30") { "optimizer.learning_rate=1e30" } else { word });
    let answer = json(place.path(), &sweep(&only));
    assert_eq!((answer["points"].as_array().unwrap().len(), &answer["best"]), (1, &"".into()));
}

#[test]
fn a_run_of_another_recipe_is_named_by_the_key() {
    let place = with_one();
    let first = [
        "sweep",
        "one.toml",
        "--out",
        "swept",
        "--grid",
        "train.batch=8,16",
        "--set",
        "data.validation=16",
        "--json",
    ];
    json(place.path(), &first);
    // A sweep resumes: it starts the missing runs, and finishes those without a result.
    let run = place.path().join("swept/train.batch=8/seed-0");
    fs::remove_dir_all(run.join("state")).unwrap();
    for file in ["result.json", "report.html", "metrics.jsonl", "model.safetensors"] {
        fs::remove_file(run.join(file)).unwrap();
    }
    fs::remove_file(place.path().join("swept/train.batch=16/seed-0/result.json")).unwrap();
    json(place.path(), &first);
    assert!(run.join("result.json").exists());

    let text = complaint(place.path(), &[&first[..], &["--set", "train.iterations=5"]].concat(), 2);
    assert!(text.contains("`train.iterations` is 6, here 5"), "{text}");
}
