//! Runs that become longer than they were begun.

use std::fs;

#[cfg(unix)]
use crate::support::process::{end, start, wait_until};
use crate::support::program::{complaint, stderr, train};
#[cfg(unix)]
use crate::support::recipes::Edited as _;
use crate::support::recipes::{TWO_VARIANTS, with_one};
#[cfg(unix)]
use crate::support::run::iterations;
use crate::support::run::{assert_same_end, result};

#[test]
fn more_iterations_are_asked_for_and_nothing_else_is() {
    let place = with_one();
    train(place.path(), &["one.toml", "--out", "whole", "--set", "train.iterations=12"]);
    train(place.path(), &["one.toml", "--out", "cut"]);
    for (set, reason) in [
        (
            "train.iterations=5",
            "the run was begun for 6 iterations; N in --set train.iterations=N must be larger than 6, not 5",
        ),
        ("train.batch=8", "--set train.batch: the run was begun with 16"),
        ("train.iteratoins=12", "train.iteratoins"),
    ] {
        let text = complaint(place.path(), &["train", "--resume", "cut", "--set", set], 2);
        assert!(text.contains(reason), "{text}");
    }
    let text = stderr(place.path(), &["train", "--resume", "cut", "--set", "train.iterations=12"]);
    assert!(text.contains("from 6 to 12 iterations") && text.contains("schedule"), "{text}");
    assert_same_end(place.path(), "whole", "cut");
    assert_eq!(result(&place.path().join("cut"))["arms"][0]["iterations"], 12);
    assert_eq!(result(&place.path().join("cut"))["extended_at"][0], 6);

    // Several variants, each resumed from its state, with a new report.
    fs::write(place.path().join("tiny.toml"), TWO_VARIANTS).unwrap();
    let narrow = "variant.Fair.objective.kernel={ name = \"rbf\", sigma = 0.1 }";
    train(place.path(), &["tiny.toml", "--out", "two", "--set", "train.iterations=4", "--set", narrow]);
    // The longer run makes them again.
    for file in ["model.safetensors", "figures.json"] {
        fs::remove_file(place.path().join("two").join(file)).unwrap();
    }
    train(place.path(), &["--resume", "two", "--set", "train.iterations=6"]);
    let two = result(&place.path().join("two"));
    assert_eq!((&two["arms"][0]["iterations"], &two["arms"][1]["iterations"]), (&6.into(), &6.into()));
    // It is found before the first step, so that the longer run reads it from the state.
    assert_eq!(two["arms"][1]["kernel"], "too-narrow");
    assert!(complaint(place.path(), &["train", "--resume", "two"], 2).contains("has finished"));
}

/// Its result, report and models were removed before the refusal.
#[test]
fn a_run_that_cannot_be_made_longer_keeps_its_result() {
    let place = with_one();
    train(place.path(), &["one.toml", "--out", "run"]);
    let run = place.path().join("run");
    let files = ["result.json", "report.html", "model.safetensors", "recipe.toml", "state/state.json"];
    let before = files.map(|file| fs::read(run.join(file)).unwrap());
    let log = fs::read(run.join("metrics.jsonl")).unwrap();
    fs::write(run.join("metrics.jsonl"), &log[1..]).unwrap();
    let longer = ["train", "--resume", "run", "--set", "train.iterations=12"];
    let text = complaint(place.path(), &longer, 1);
    assert!(text.contains("metrics.jsonl is damaged") && !text.contains("the run continues"), "{text}");
    for (file, before) in files.iter().zip(before) {
        assert!(fs::read(run.join(file)).is_ok_and(|now| now == before), "{file}");
    }
    fs::write(run.join("metrics.jsonl"), log).unwrap();
    train(place.path(), &longer[1..]);
    assert_eq!(result(&run)["arms"][0]["iterations"], 12);
}

/// Otherwise the result of its earlier end would be taken for that of the longer run.
#[cfg(unix)]
#[test]
fn a_run_that_was_made_longer_has_no_result_until_its_new_end() {
    let place = with_one();
    let often = "train.checkpoint_every=10";
    train(place.path(), &["one.toml", "--seeds", "1", "--out", "seeds", "--set", often]);
    let run = place.path().join("seeds/seed-0");
    let variant = result(&run)["arms"][0]["name"].as_str().unwrap().to_owned();
    let longer = ["train", "--resume", "seeds/seed-0", "--set", "train.iterations=4000"];
    let mut child = start(place.path(), &longer);
    wait_until(&mut child, "a checkpoint beyond the earlier end", || iterations(&run, &variant) > 6);
    let (code, text) = end(child, "-INT");
    assert_eq!(code, Some(130), "{text}");
    for file in ["result.json", "report.html", "model.safetensors"] {
        assert!(!run.join(file).exists(), "{file} is that of the earlier end: {text}");
    }
    for command in [&["report", "seeds/seed-0"][..], &["embed", "seeds/seed-0", "a.png"]] {
        let text = complaint(place.path(), command, 1);
        assert!(text.contains("has not finished"), "{text}");
    }
    // The process may have been killed after its state and before its recipe.
    let recipe = fs::read_to_string(run.join("recipe.toml")).unwrap();
    fs::write(run.join("recipe.toml"), recipe.edited("iterations = 4000", "iterations = 6")).unwrap();
    let done = iterations(&run, &variant);
    let mut child = start(place.path(), &["train", "--resume", "seeds/seed-0"]);
    wait_until(&mut child, "a later checkpoint", || iterations(&run, &variant) > done);
    let (code, text) = end(child, "-INT");
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(fs::read_to_string(run.join("recipe.toml")).unwrap(), recipe);
}
