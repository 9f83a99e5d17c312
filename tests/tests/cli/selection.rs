//! Choosing an encoder on held-out images, ending early, and starting from given weights.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[cfg(unix)]
use crate::support::process::{end, interrupt, start, wait_until};
use crate::support::program::{complaint, json, simile, stdout};
use crate::support::recipes::{Edited as _, SMALL, classifier, place_with};
use crate::support::run::result;
#[cfg(unix)]
use crate::support::run::{assert_same_end, standing};

/// Evaluated at every fourth iteration; at this rate the encoder soon gets worse.
const CHOSEN: &str = r#"
[data]
dataset = "digits"
train = 160
test = 48

[optimizer]
name = "sgd"
learning_rate = 2.0

[train]
batch = 16
iterations = 24
checkpoint_every = 3
log_every = 1

[probe]
steps = 5

[selection]
held_out = 64
every = 4

[[variant]]
name = "A"
objective = { name = "nt-xent", temperature = 0.5 }
"#;

fn exists(place: &Path, file: &str) -> bool {
    place.join(file).exists()
}

#[test]
fn the_encoder_is_chosen_on_held_out_images_and_the_last_stands_beside_it() {
    let place = place_with("mine.toml", CHOSEN);
    let run = ["train", "mine.toml", "--out", "run"];
    let text = stdout(place.path(), &run);
    let answer = result(&place.path().join("run"));
    let variant = &answer["arms"][0];
    let evaluations = variant["evaluations"].as_array().unwrap();
    let iterations: Vec<u64> = evaluations.iter().map(|e| e["iteration"].as_u64().unwrap()).collect();
    assert_eq!(iterations, [4, 8, 12, 16, 20, 24]);
    let value = |evaluation: &Value| evaluation["value"].as_f64().unwrap();
    let most = evaluations.iter().map(value).fold(0.0, f64::max);
    let best = evaluations.iter().find(|evaluation| value(evaluation) == most).unwrap();
    let protocol = variant["protocol"].as_str().unwrap();
    for words in
        [&format!("iteration {},", best["iteration"]), "top1", "64 held-out", "96 training", "48 test"]
    {
        assert!(protocol.contains(words), "no `{words}` in `{protocol}`");
    }
    assert!(text.contains("held-out"), "{text}");
    // The metrics are those of the chosen encoder.
    let evaluated = json(place.path(), &["evaluate", "run", "--json"]);
    assert_eq!(evaluated["metrics"], variant["metrics"]);
    let is_last = best["iteration"] == 24;
    assert_eq!(exists(place.path(), "run/model-last.safetensors"), !is_last);
    assert_eq!(variant["last"].is_null(), is_last);
    if !is_last {
        let last = json(place.path(), &["evaluate", "run/model-last.safetensors", "--json"]);
        assert_eq!(last["metrics"], variant["last"]);
        assert!(text.contains("A, last"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_selection_continues_to_the_same_end() {
    let place = place_with("mine.toml", CHOSEN);
    simile(place.path(), &["train", "mine.toml", "--out", "whole"]).assert().success();
    interrupt(place.path(), &["train", "mine.toml", "--out", "cut"], "A");
    simile(place.path(), &["train", "--resume", "cut"]).assert().success();
    assert_same_end(place.path(), "whole", "cut");
    let of = |run: &str| result(&place.path().join(run))["arms"][0].clone();
    for key in ["evaluations", "last", "protocol"] {
        assert_eq!(of("whole")[key], of("cut")[key], "{key}");
    }
}

/// A signal waited for the end of work between two steps, which takes minutes of a large data set.
#[cfg(unix)]
#[test]
fn a_signal_stops_evaluations_and_scores_of_all_images() {
    let evaluated = CHOSEN.edited("train = 160", "train = 3000").edited("held_out = 64", "held_out = 1500");
    let scored = CHOSEN.edited("train = 160", "train = 3000").edited(
        r#"{ name = "nt-xent", temperature = 0.5 }"#,
        "{ name = \"jtt\" }\nmethod = { name = \"jtt\", first_steps = 1 }",
    );
    let scored = scored.edited("[selection]\nheld_out = 64\nevery = 4\n", "");
    for recipe in [evaluated.edited("every = 4", "every = 1"), scored] {
        let place = place_with("mine.toml", &recipe.edited("iterations = 24", "iterations = 2"));
        let run = place.path().join("cut");
        let mut child = start(place.path(), &["train", "mine.toml", "--out", "cut"]);
        let is_logged = || fs::metadata(run.join("metrics.jsonl")).is_ok_and(|log| log.len() > 0);
        wait_until(&mut child, "the first step", is_logged);
        let (code, text) = end(child, "-TERM");
        assert_eq!(code, Some(143), "{text}");
        let variant = standing(&run).unwrap()["arms"][0].clone();
        // After the work there would be an evaluation, or a second step.
        assert_eq!(
            (&variant["iteration"], &variant["evaluations"]),
            (&1.into(), &Value::Array(vec![])),
            "{text}"
        );
        simile(place.path(), &["train", "--resume", "cut"]).assert().success();
        simile(place.path(), &["train", "mine.toml", "--out", "whole"]).assert().success();
        assert_same_end(place.path(), "whole", "cut");
    }
}

#[test]
fn training_ends_when_nothing_gets_better() {
    let place = place_with("mine.toml", &CHOSEN.edited("every = 4", "every = 2\npatience = 1"));
    simile(place.path(), &["train", "mine.toml", "--out", "run"]).assert().success();
    let variant = result(&place.path().join("run"))["arms"][0].clone();
    let evaluations = variant["evaluations"].as_array().unwrap();
    let last = evaluations.last().unwrap();
    assert_eq!(variant["iterations"], last["iteration"]);
    assert_eq!(variant["stopped"]["why"], "no-better", "twelve evaluations, each better: {evaluations:?}");
    assert!(evaluations.iter().any(|earlier| earlier["value"].as_f64() >= last["value"].as_f64()));
    // Its steps since the last line and the last checkpoint are not lost. A longer run would end where it ended.
    let seldom = ["--set", "train.log_every=50", "--set", "train.checkpoint_every=50"];
    simile(place.path(), &[&["train", "mine.toml", "--out", "seldom"], &seldom[..]].concat())
        .assert()
        .success();
    let ended = result(&place.path().join("seldom"))["arms"][0].clone();
    assert!(ended["final_loss"].as_f64().unwrap() > 0.0, "{ended}");
    let longer = ["train", "--resume", "seldom", "--set", "train.iterations=30"];
    let text = complaint(place.path(), &longer, 2);
    assert!(text.contains("selection.patience ended the run (no better"), "{text}");
}

/// Patience ended such runs before the main network had taken a step, and that network was the chosen one.
#[test]
fn networks_before_the_last_of_two_stages_are_no_candidates() {
    let base = SMALL
        .edited("train = 64", "train = 96")
        .edited("iterations = 6", "iterations = 8")
        .edited("[probe]", "[selection]\nheld_out = 32\nevery = 1\npatience = 1\n\n[probe]");
    let biased = r#"{ name = "bias-network", encoder = { name = "simple-conv-1x1", input_size = 8 }, first_steps = 5 }"#;
    let place = place_with(
        "mine.toml",
        &format!(
            "{base}\n[[variant]]\nname = \"RUBi\"\nobjective = {{ name = \"rubi\" }}\nmethod = {biased}\n\n\
         [[variant]]\nname = \"JTT\"\nobjective = {{ name = \"jtt\" }}\nmethod = {{ name = \"jtt\", first_steps = 5 }}\n"
        ),
    );
    simile(place.path(), &["train", "mine.toml", "--out", "run"]).assert().success();
    for variant in result(&place.path().join("run"))["arms"].as_array().unwrap() {
        let evaluations = variant["evaluations"].as_array().unwrap();
        assert_eq!(evaluations[0]["iteration"], 6, "{variant}");
        let last = evaluations.last().unwrap();
        assert!(evaluations.len() > 1 && variant["iterations"] == last["iteration"], "{variant}");
    }
}

#[test]
fn a_run_that_diverges_keeps_what_was_good() {
    let recipe = CHOSEN.edited("learning_rate = 2.0", "learning_rate = 1e30");
    let place = place_with("mine.toml", &recipe.edited("checkpoint_every = 3", "checkpoint_every = 1"));
    let text = complaint(place.path(), &["train", "mine.toml", "--out", "run"], 1);
    assert!(text.contains("not a finite number") && text.contains("kept as it was at iteration"), "{text}");
    let variant = result(&place.path().join("run"))["arms"][0].clone();
    assert_eq!(variant["stopped"]["why"], "diverged");
    assert!(variant["iterations"].as_u64().unwrap() < 24 && variant["metrics"]["top1"].is_number());
    assert!(exists(place.path(), "run/model.safetensors") && exists(place.path(), "run/report.html"));
    // Before the first checkpoint the stored state is the initial one.
    let text = complaint(
        place.path(),
        &["train", "mine.toml", "--set", "train.checkpoint_every=9", "--out", "b"],
        1,
    );
    assert!(text.contains("not a finite number") && text.contains("kept as it was at iteration 0"), "{text}");
}

#[test]
fn a_selection_that_cannot_be_made_is_named() {
    let place = place_with("mine.toml", CHOSEN);
    let set = |setting: &str, code: i32| {
        complaint(place.path(), &["train", "mine.toml", "--set", setting, "--out", "run"], code)
    };
    assert!(set("selection.metric=top-1", 2).contains("did you mean `top1`?"));
    assert!(set("selection.every=0", 2).contains("selection.every"));
    assert!(
        set("selection.held_out=160", 2)
            .contains("`selection.held_out` is 160, expected 1 to 159 of 160 training images")
    );
    assert!(set("selection.held_out=0", 2).contains("selection.official"));
    assert!(set("selection.official=true", 2).contains("set either"));
    let text = set("train.accumulate=5", 2);
    assert!(text.contains("train.iterations") && text.contains("multiple"), "{text}");
    let place = place_with("mine.toml", &CHOSEN.edited("every = 4", "every = 4\nmetric = \"roc_auc\""));
    let text = complaint(place.path(), &["train", "mine.toml"], 2);
    assert!(text.contains("roc_auc") && text.contains("top5"), "{text}");
}

#[test]
fn a_run_starts_from_weights_and_is_judged_by_its_own_classifier() {
    let place = place_with("mine.toml", &classifier());
    simile(place.path(), &["train", "mine.toml", "--out", "first"]).assert().success();
    let normalise = ["--set", "data.normalise={ mean = [0.5, 0.5, 0.5], std = [0.2, 0.2, 0.2] }"];
    let first = [&["train", "mine.toml", "--out", "second"], &normalise[..]].concat();
    simile(place.path(), &first).assert().success();

    let tune = |out: &str, weights: &str| {
        let setting = format!("encoder.weights={weights}");
        let run = ["train", "mine.toml", "--set", &setting, "--set", "train.iterations=1", "--out", out];
        simile(place.path(), &run).assert().success();
        json(place.path(), &["evaluate", out, "--json"])["metrics"].clone()
    };
    // The same step from other weights ends with other weights.
    let (one, other) = (tune("one", "first"), tune("other", "second/model.safetensors"));
    assert_ne!(one, other);
    let resolved = fs::read_to_string(place.path().join("other/recipe.toml")).unwrap();
    assert!(resolved.contains("0.2"), "images are normalised as the weights expect: {resolved}");
    let copied = fs::read(place.path().join("one/weights.safetensors")).unwrap();
    assert!(copied == fs::read(place.path().join("first/model.safetensors")).unwrap());
    let metrics = result(&place.path().join("one"))["arms"][0]["metrics"].clone();
    assert!(metrics["classifier_top1"].is_number() && metrics["classifier_class_mean"].is_number());

    let fails = |setting: &str| {
        complaint(place.path(), &["train", "mine.toml", "--set", setting, "--out", "never"], 1)
    };
    let text = fails("encoder.weights=nowhere.safetensors");
    assert!(text.contains("encoder.weights") && text.contains("nowhere.safetensors"), "{text}");
    fs::write(
        place.path().join("other.toml"),
        classifier().edited("[train]", "[encoder]\nname = \"resnet18\"\n[train]"),
    )
    .unwrap();
    let other = ["train", "other.toml", "--set", "encoder.weights=first", "--out", "never"];
    let text = complaint(place.path(), &other, 1);
    assert!(text.contains("lenet5") && text.contains("resnet18"), "{text}");
    assert!(!exists(place.path(), "never"), "a run that cannot begin makes no folder");
}
