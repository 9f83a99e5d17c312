//! Help, listings and other answers that need no training.

use simile_tests::place;

use crate::support::help::helps;
use crate::support::program::{complaint, json, stderr_of, stdout};

#[test]
fn every_level_has_help_with_examples() {
    let helps = helps();
    for level in ["", "train", "data", "data check", "recipes show"] {
        assert!(helps.iter().any(|(words, _)| words.join(" ") == level), "no command `{level}` was found");
    }
    for (words, help) in helps {
        let is_whole = help.contains("\nExamples:\n") && help.contains("Usage: simile");
        assert!(is_whole, "help of `simile {}`:\n{help}", words.join(" "));
    }
}

#[test]
fn a_typing_mistake_is_a_usage_error() {
    let place = place();
    assert!(complaint(place.path(), &["trian"], 2).contains("train"));
    assert!(complaint(place.path(), &["train", "fair-digits", "--sed", "1"], 2).contains("--seed"));
    complaint(place.path(), &["train"], 2);
    complaint(place.path(), &["loss", "a.json", "--tile", "0"], 2);
}

#[test]
fn recipes_are_listed_and_printed() {
    let place = place();
    let listed = json(place.path(), &["recipes", "--json"]);
    let named = |kind: &str| -> Vec<&str> {
        let rows = listed.as_array().unwrap().iter().filter(|row| row["kind"] == kind);
        rows.map(|row| row["name"].as_str().unwrap()).collect()
    };
    let (recipes, tables) = (named("recipe"), named("table"));
    assert!(recipes.contains(&"fair-digits") && recipes.contains(&"colour-mnist-released"), "{recipes:?}");
    assert!(tables.contains(&"cclk-table3") && tables.contains(&"du-table5"), "{tables:?}");
    // `newcomer.rs` has all recipes printed.
    for name in tables {
        assert!(stdout(place.path(), &["recipes", "show", name]).contains("[[metric]]"), "{name}");
    }
    assert!(complaint(place.path(), &["recipes", "show", "fair-digit"], 2).contains("`fair-digits`"));
}

#[test]
fn devices_say_what_is_built_in_and_what_is_present() {
    let place = place();
    let answer = json(place.path(), &["devices", "--json"]);
    let rows = answer["devices"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(row("cpu")["built_in"], true);
    assert_eq!(row("cpu")["present"][0]["kind"], "cpu");
    assert!(answer["auto"].is_string());
    assert!(stdout(place.path(), &["devices"]).contains("--device auto"));
}

#[test]
fn completions_know_the_commands_of_every_shell() {
    let place = place();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(place.path(), &["completions", shell]);
        assert!(script.contains("train") && script.contains("resume"), "{shell}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = place();
    let mut child = std::process::Command::new(simile_tests::program())
        .args(["completions", "bash"])
        .current_dir(place.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}: {}", output.status, stderr_of(&output));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_device_that_is_not_built_in_names_its_feature() {
    let place = place();
    let answer = json(place.path(), &["devices", "--json"]);
    let missing = answer["devices"].as_array().unwrap().iter().find(|row| row["built_in"] == false).cloned();
    let Some(row) = missing else {
        simile_tests::skipped::note("every backend is built in");
        return;
    };
    let (name, feature) = (row["name"].as_str().unwrap(), row["feature"].as_str().unwrap());
    let text = complaint(place.path(), &["train", "fair-digits", "--smoke", "--device", name], 2);
    assert!(text.contains(&format!("--features {feature}")), "{text}");
    complaint(place.path(), &["train", "fair-digits", "--device", "tpu"], 2);
}
