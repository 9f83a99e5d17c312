//! Snapshots of the texts that users see most, in `snapshots` beside this file. `INSTA_UPDATE=always` rewrites them.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};
use simile_tests::place;

use crate::support::program::{simile, stderr_of, stdout};

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
        assert_snapshot!(name, stderr_of(&output));
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

    give_known_numbers(&place.path().join("run/result.json"));
    stdout(place.path(), &["report", "run"]);
    let page = fs::read_to_string(place.path().join("run/report.html")).unwrap();
    let text = without_numbers(&text_of(&page));
    let mut lines: Vec<&str> = text.lines().collect();
    // Of numbers one below the other, such as the classes of a legend, one is enough.
    lines.dedup();
    assert_snapshot!("report", lines.join("\n"));
}

/// Makes a smoke test a whole run with known numbers, so that no sentence of its report depends on the machine.
fn give_known_numbers(result: &Path) {
    let mut run: Value = serde_json::from_slice(&fs::read(result).unwrap()).unwrap();
    let metrics = |top1: f64, r2: f64| json!({ "top1": top1, "condition_r2": r2, "condition_mse": 1.0 - r2 });
    let fits =
        json!({ "class": { "ridge": 0.001, "held_out": 20 }, "condition": { "ridge": 0.1, "held_out": 20 } });
    let untrained =
        json!({ "name": "Untrained network", "metrics": metrics(0.75, 0.99), "probes": fits.clone() });
    for (key, value) in [
        ("smoke", Value::Null),
        ("seconds", json!(60.0)),
        ("date", json!("2026-01-01T00:00:00Z")),
        ("untrained", untrained),
        ("base_rates", metrics(0.1, 0.0)),
    ] {
        run[key] = value;
    }
    for (at, metrics, paired) in
        [(0_usize, metrics(0.76, 0.997), json!({})), (1, metrics(0.95, 0.21), json!({ "top1": 0.001 }))]
    {
        let variant = &mut run["arms"][at];
        for (key, value) in [
            ("metrics", metrics),
            ("paired", paired),
            ("probes", fits.clone()),
            ("training_seconds", json!(30.0)),
            ("warnings", json!([])),
        ] {
            variant[key] = value;
        }
    }
    fs::write(result, run.to_string()).unwrap();
}

/// The words of a page, a line for each paragraph and for each row of a table, without charts, matrices, neighbours and the recipe.
fn text_of(page: &str) -> String {
    let left_out = [
        ("<style", "</style>"),
        ("<script", "</script>"),
        ("<svg", "</svg>"),
        ("<table class=\"cells\"", "</table>"),
        ("<div class=\"scale\"", "</div>"),
        ("<div class=\"sheet\"", "</div>"),
        ("<pre", "</pre>"),
    ];
    let page = left_out.iter().fold(page.to_owned(), |page, (start, end)| {
        let mut parts = page.split(start);
        let first = parts.next().unwrap_or_default().to_owned();
        first + &parts.filter_map(|part| part.split_once(end)).map(|(_, rest)| rest).collect::<String>()
    });
    let text = |part: &str| {
        let Some((tag, text)) = part.split_once('>') else { return part.to_owned() };
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        let between = match name {
            "b" | "code" | "i" | "small" | "u" => "",
            "td" | "th" => " ",
            _ => "\n",
        };
        format!("{between}{text}")
    };
    page.split('<').map(text).collect()
}

/// A table without the numbers, widths and times of a machine: `#` for each number, one blank for many, no rules.
fn without_numbers(table: &str) -> String {
    let word = |word: &str| {
        let has_digits = word.chars().any(|c| c.is_ascii_digit());
        let is_power = word.trim_end_matches([',', ';']).parse::<f64>().is_ok();
        if has_digits && (is_power || !word.contains(|c: char| c.is_alphabetic())) {
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
