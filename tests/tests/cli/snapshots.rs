//! Snapshots of the texts that users see most, in `snapshots` beside this file. `INSTA_UPDATE=always` rewrites them.

use insta::assert_snapshot;

use crate::{place, simile, stdout};

#[test]
fn help() {
    let place = place();
    assert_snapshot!("help", stdout(place.path(), &["--help"]));
    assert_snapshot!("help_of_train", stdout(place.path(), &["train", "--help"]));
}

#[test]
fn errors() {
    let place = place();
    for (name, arguments) in [
        ("error_of_a_command", &["trian"][..]),
        ("error_of_a_recipe", &["recipes", "show", "fair-digit"]),
        ("error_of_a_setting", &["train", "fair-digits", "--set", "train.iteration=5"]),
        ("error_of_a_value", &["train", "fair-digits", "--set", "optimizer.learning_rate=fast"]),
        ("error_of_missing_data", &["train", "colour-mnist", "--data", "."]),
    ] {
        let mut command = simile(place.path(), arguments);
        // A user's mistake prints no back trace, even where they are enabled.
        let output = command.env("RUST_BACKTRACE", "1").output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        assert_snapshot!(name, String::from_utf8(output.stderr).unwrap());
    }
}

#[test]
fn recipes() {
    let place = place();
    assert_snapshot!("recipes", stdout(place.path(), &["recipes"]));
}

#[test]
fn results() {
    let place = place();
    let table = stdout(place.path(), &["train", "fair-digits", "--smoke", "--device", "cpu", "--out", "run"]);
    assert_snapshot!("results", without_numbers(&table));
}

/// A table without the numbers, widths and times of a machine: `#` for each number, one blank for many, no rules.
fn without_numbers(table: &str) -> String {
    let word = |word: &str| {
        let is_number = word.chars().any(|c| c.is_ascii_digit());
        if is_number && !word.contains(|c: char| c.is_alphabetic()) {
            "#".to_owned()
        } else {
            word.to_owned()
        }
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n";
    let is_left_out = |line: &&str| {
        line.contains(" in all, ") || line.contains("smoke test") || !line.contains(char::is_alphanumeric)
    };
    table.lines().filter(|line| !is_left_out(line)).map(line).collect()
}
