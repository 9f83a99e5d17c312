//! The loss lab, as a visitor would use it, and what it shows beside core and the command line.

use std::f64::consts::TAU;
use std::process::Command;

use burn::tensor::{DType, Device};
use serde_json::{Value, json};
use simile_core::eval::geometry;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::{Outcome, Request};
use simile_tests::program;

use crate::{Where, is_ready, run, workspace};

/// The result of a story of `tests/browser/lab`, which asserts what the page decides alone; none where there is no browser.
fn story(name: &str) -> Option<Value> {
    is_ready().then(|| run(&format!("lab/{name}.mjs"), Where::Cpu, json!({})))
}

#[test]
fn samples_go_down_both_losses() {
    let Some(saved) = story("descent") else { return };
    a_saved_loss_is_that_of_the_saved_points(&saved);
    saved_figures_are_those_of_core(&saved["sides"][0]);
}

#[test]
fn every_objective_is_shown_and_its_code_is_that_of_core() {
    let Some(result) = story("objectives") else { return };
    let count = |name: &str| result[name].as_array().unwrap().len();
    assert!(count("objectives") >= 18, "{}", result["objectives"]);
    assert_eq!(count("objectives") + count("refused"), simile_core::loss::names().count());
    crate::snippets::are_kept(&result["snippets"]);
    weights_are_those_of_the_points(&result["hardneg"]);
    forms_have_their_own_values(&result["forms"]);
}

#[test]
fn presets_show_what_they_tell_and_train() {
    let Some(recipes) = story("presets") else { return };
    for (title, recipe) in recipes.as_object().unwrap() {
        a_recipe_is_taken(title, recipe.as_str().unwrap());
    }
}

#[test]
fn samples_are_dragged_painted_and_kept_in_the_address() {
    let Some(result) = story("samples") else { return };
    is_laplacian(result["cell"].as_str().unwrap(), &numbers(&result["hues"]));
}

#[test]
fn a_visitor_takes_along_files_code_and_an_address() {
    story("sharing");
}

#[test]
fn it_fits_a_phone_a_frame_and_the_colours_of_a_system() {
    story("look");
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}

/// Asserts that a file that is saved during a run has the loss of its points.
fn a_saved_loss_is_that_of_the_saved_points(saved: &Value) {
    let side = &saved["sides"][0];
    let views = &side["samples"]["views"];
    let outcome = outcome(&json!({
        "objective": side["objective"], "params": { "temperature": saved["state"]["settings"]["temperature"] },
        "inputs": { "view_a": views[0], "view_b": views[1] },
    }));
    let difference = (outcome.loss.unwrap() - side["loss"].as_f64().unwrap()).abs();
    assert!(difference < 1e-4, "the loss of other points: {difference}");
}

/// Asserts that the page measures the saved points as core does.
fn saved_figures_are_those_of_core(side: &Value) {
    let [a, b]: [Vec<Vec<f64>>; 2] = serde_json::from_value(side["samples"]["views"].clone()).unwrap();
    let both = Matrix::try_from([a.clone(), b.clone()].concat()).unwrap();
    let [a, b] = [a, b].map(|rows| Matrix::try_from(rows).unwrap());
    for (name, expected) in
        [("alignment", geometry::alignment(&a, &b, 2.0)), ("uniformity", geometry::uniformity(&both, 2.0))]
    {
        let (shown, expected) = (side["figures"][name].as_f64().unwrap(), expected.unwrap());
        assert!((shown - expected).abs() < 1e-9, "{name}: {shown}, {expected} by core");
    }
}

/// Asserts that the command line takes the recipe of a preset, in which both sides may have one objective.
fn a_recipe_is_taken(title: &str, variants: &str) {
    let shipped = std::fs::read_to_string(workspace().join("native/recipes/fair-digits.toml")).unwrap();
    let (data, _) = shipped.split_once("[[variant]]").unwrap();
    let folder = simile_tests::place();
    let file = folder.path().join("lab.toml");
    std::fs::write(&file, format!("{data}{variants}")).unwrap();
    let mut command = Command::new(program());
    command.current_dir(folder.path()).arg("train").arg(&file).args(["--device", "cpu", "--profile", "0"]);
    for setting in ["data.train=64", "data.test=32", "train.batch=16"] {
        command.args(["--set", setting]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{title}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Asserts that the map of `HardNeg-CCLK` has the weights that core computes from the points, also after these have moved.
fn weights_are_those_of_the_points(shown: &Value) {
    for state in shown.as_array().unwrap() {
        is_mass(state, &state["views"][0], 0.01);
    }
}

/// Asserts the ridge and the factor of distances of both forms of Kernel Decoupled Uniformity, by core's weights and loss.
fn forms_have_their_own_values(forms: &Value) {
    for (form, ridge) in [("released", 0.01), ("paper", 0.16)] {
        let shown = &forms[form];
        let hues: Vec<f64> = serde_json::from_value(shown["hues"].clone()).unwrap();
        let colours: Vec<[f64; 2]> = hues.iter().map(|hue| [(TAU * hue).cos(), (TAU * hue).sin()]).collect();
        is_mass(shown, &json!(colours), ridge);
        let inputs = json!({ "view_a": shown["views"][0], "view_b": shown["views"][1], "z": colours });
        let outcome = outcome(&json!({
            "objective": "kernel-decoupled-uniformity", "variant": form, "inputs": inputs,
            "params": { "kernel": { "name": "rbf", "sigma": 0.5 }, "lambda": 0.01 },
        }));
        let difference = (outcome.loss.unwrap() - shown["loss"].as_f64().unwrap()).abs();
        assert!(difference < 1e-3, "{form}: {difference}");
    }
}

/// Asserts that the note of a map states the mean sum of the weights of a sample on the others.
fn is_mass(shown: &Value, z: &Value, ridge: f64) {
    let params = json!({ "kernel": { "name": "rbf", "sigma": 0.5 }, "lambda": ridge });
    let outcome = outcome(&json!({ "objective": "kceo-weights", "params": params, "inputs": { "z": z } }));
    let weights: Vec<Vec<f64>> = serde_json::from_value(outcome.aux["W_paper"].clone()).unwrap();
    let all: f64 = weights.iter().flatten().sum();
    let own: f64 = weights.iter().enumerate().map(|(at, row)| row[at]).sum();
    let expected = (all - own) / weights.len() as f64;
    let note = shown["note"].as_str().unwrap();
    let stated: f64 =
        note.split_once("sum to ").and_then(|(_, rest)| rest.split(' ').next()).unwrap().parse().unwrap();
    assert!((stated - expected).abs() < 1e-3, "{note}: {expected}");
}

fn outcome(case: &Value) -> Outcome {
    let case = Request::parse(&case.to_string()).unwrap();
    pollster::block_on(case.run(&Device::flex(), DType::F64, None)).unwrap()
}

/// Asserts that the text under a heat map states the Laplacian kernel of the two samples' hues.
fn is_laplacian(cell: &str, hues: &[f64]) {
    let numbers: Vec<f64> = cell
        .split(|c: char| !(c.is_ascii_digit() || ".e-".contains(c)))
        .filter_map(|v| v.parse().ok())
        .collect();
    let [i, j, value, ..] = numbers[..] else { panic!("{cell}") };
    let turns = hues[i as usize - 1] - hues[j as usize - 1];
    let distance = 2.0 * (std::f64::consts::PI * turns).sin().abs();
    assert!((value - (-distance / 0.5).exp()).abs() < 2e-3, "{cell}: distance {distance}");
}
