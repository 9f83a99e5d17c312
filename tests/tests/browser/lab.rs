//! The loss lab, as a visitor would use it.

use std::f64::consts::TAU;
use std::process::Command;

use burn::tensor::{DType, Device};
use serde_json::{Value, json};
use simile_core::requests::{Outcome, Request};
use simile_tests::program;

use crate::{Where, is_ready, largest_difference, run, screenshots, workspace};

#[test]
fn a_visitor_can_use_the_loss_lab() {
    if !is_ready() {
        return;
    }
    let screenshots = screenshots();
    let site = workspace().join("www/dist");
    let result = run("lab.mjs", Where::Cpu.job(), json!({ "site": site, "screenshots": screenshots }));
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the lab is wider than a phone");
    assert_eq!(result["failures"], json!([]));
    assert_eq!(result["embedded"], json!({ "header": false, "overflow": false }));
    a_run_lowers_the_loss(&result);
    a_saved_loss_is_that_of_the_saved_points(&result["running"]);
    let reopened = result["reopened"].as_f64().unwrap();
    assert!(reopened < 1e-3, "the address of a saved state has other points: {reopened}");
    assert!(result["focus"].as_str().unwrap().contains("Sample 1, first view"), "{}", result["focus"]);
    assert_eq!(result["drag"]["tops"], json!([1, 1]), "both sides move the point that is dragged");
    let loss = numbers(&result["drag"]["loss"]);
    assert!((loss[0] - loss[1]).abs() > 1e-4, "{loss:?}");
    assert_eq!(result["painted"], json!([0.6]));
    assert_eq!(result["isUntouched"], true, "the right button of the mouse moves a point");
    assert_eq!(
        result["starts"],
        json!([-1, 0, 1]),
        "the start is that of the address, then that of the seed"
    );
    let sides = ["Fair-CCLK, left", "Fair-CCLK, right", "Fair-CCLK, left, which takes other weights"];
    assert_eq!(result["sides"], json!(sides), "whose weights are shown");
    assert_eq!(result["pressed"], 0, "other points are not those of the preset");
    assert_eq!(result["pressedAfterDrag"], 0, "points that were dragged are not those of the preset");
    let expected = "The lab cannot take left=zzz, right=fair-cclk.zzz, temperature=NaN, points=9, a=! of the address; \
                    it keeps its own.";
    let of_seed = "The lab cannot take seed=-1 of the address; it keeps its own.";
    assert_eq!(result["told"], json!([expected, "", of_seed, ""]), "what an address asks for in vain");
    let apart = "no two colours are alike under this kernel, so colour has no effect";
    let narrow = |side: &str| format!("{side}: {apart}; raise the bandwidth σ.");
    let one = "right: all samples have one colour, so colour has no effect; paint some in another one.";
    let warned = json!([narrow("both sides"), narrow("right"), one]);
    assert_eq!(result["warned"], warned, "numbers that mean nothing");
    let exact = format!("both sides: {apart}; choose another kernel.");
    assert_eq!(result["apart"], json!({ "exact-match": exact }), "kernels that tell all samples apart");
    an_address_restores_the_state(&result);
    exports_are_whole(&result);
    crate::snippets::are_kept(&result["snippets"]);
    presets_show_what_they_tell(&result);
    assert_eq!(result["weights"], "paper", "the map shows other weights than those of the objective");
    weights_are_those_of_the_points(&result["hardneg"]);
    forms_have_their_own_values(&result["forms"]);
    assert!(!result["recipe"].as_str().unwrap().contains("colours"), "{}", result["recipe"]);
    assert!(result["labels"].as_array().unwrap().contains(&json!("t")), "{}", result["labels"]);
    let forced = &result["forced"];
    assert_ne!(forced["background"], forced["sphere"], "a figure of one colour: {forced}");
    assert!(result["unmarked"].as_str().unwrap().starts_with("Point at a cell"), "{}", result["unmarked"]);

    let own = result["variants"][0].as_str().unwrap();
    assert!(own == "as normalised (default)", "the form that is evaluated is named: {}", result["variants"]);

    let objectives: Vec<String> = serde_json::from_value(result["objectives"].clone()).unwrap();
    assert!(objectives.len() >= 18, "{objectives:?}");
    let refused = result["refused"].as_array().unwrap().len();
    assert_eq!(objectives.len() + refused, simile_core::loss::names().count());
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).unwrap()
}

/// Asserts that a run lowers the loss of both sides, without a word for each step, and draws no more than is seen.
fn a_run_lowers_the_loss(result: &Value) {
    let (before, after) = (&result["before"], &result["after"]);
    for side in 0..2 {
        assert!(numbers(&after["loss"])[side] < numbers(&before["loss"])[side] - 0.1, "{before} {after}");
    }
    let (started, shared) = (numbers(&before["shared"]), numbers(&after["shared"]));
    assert_eq!(started[0], started[1]);
    assert!(shared[1] < shared[0] - 0.2, "{after}");

    let shown = |motion: &str| result["shown"][motion].as_u64().unwrap();
    assert!(shown("still") >= 1 && shown("still") * 3 < shown("moving"), "{}", result["shown"]);

    let frames = &result["frames"];
    assert!(frames["shown"].as_u64().unwrap() > 1 && frames["asked"] == frames["shown"], "{frames}");

    let spoken = &result["spoken"];
    assert_eq!(
        spoken["during"],
        json!(["off", "off", "off"]),
        "a screen reader is told of the steps of a run"
    );
    assert_eq!(spoken["after"], json!(["polite", "polite", "polite"]));
    assert!(spoken["texts"].as_array().unwrap().len() == 3, "the text follows a run: {spoken}");
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

/// Asserts that the address of a state shows it again, with the same kernel, points and pairs.
fn an_address_restores_the_state(result: &Value) {
    let restored = &result["restored"];
    assert_eq!(restored["state"], true, "{}", result["address"]);
    assert_eq!(restored["kernel"], "laplacian");
    assert!(restored["farthest"].as_f64().unwrap() < 1e-4, "{restored}");
    let loss: Vec<Vec<f64>> = serde_json::from_value(restored["loss"].clone()).unwrap();
    assert!(largest_difference(&loss[..1], &loss[1..]) < 1e-2, "{restored}");
    let pair = result["pair"].as_str().unwrap();
    assert!(
        pair.contains("first view) and sample") && pair.contains("left \u{2212}"),
        "a pair attracts: {pair}"
    );
    is_laplacian(result["cell"].as_str().unwrap(), &numbers(&restored["hues"]));
}

/// Asserts that the table, the drawing and the code that a visitor takes along are whole.
fn exports_are_whole(result: &Value) {
    let columns = numbers(&result["csv"]);
    assert_eq!(columns, vec![9.0; 1 + 2 * 2 * 16], "a line for each point of each view and side");
    assert_eq!(result["svg"]["error"], "");
    assert!(result["svg"]["shapes"].as_u64().unwrap() > 64);
    assert_eq!(result["svg"]["last"], "circle", "the square of a chart hides the disc");
    for (language, expected) in
        [("rust", "loss::build"), ("recipe", "[variant.objective]"), ("torch", "def fair_cclk")]
    {
        let code = result["code"][language].as_str().unwrap();
        let is_expected = code.contains(expected) || (language == "torch" && code.contains("def nt_xent"));
        assert!(is_expected, "{language}: {code}");
    }
    let code = |language: &str| result["code"][language].as_str().unwrap();
    let rust = code("rust");
    assert_eq!(rust.matches("use simile_core::loss;").count(), 1, "{rust}");
    assert!(rust.contains("let left = {") && rust.contains("let right = {"), "{rust}");
    let torch = code("torch");
    assert!(torch.contains("\nleft = ") && torch.contains("\nright = "), "{torch}");
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

/// Asserts that each preset has its story, and that the numbers of those that make a claim bear it out.
fn presets_show_what_they_tell(result: &Value) {
    let presets = result["presets"].as_object().unwrap();
    for (title, shown) in presets {
        assert_eq!(shown["status"], "", "{title}");
        assert!(shown["story"].as_str().unwrap().len() > 40, "{title}");
        a_recipe_is_taken(title, shown["recipe"].as_str().unwrap());
    }
    let sphere = "On a sphere";
    assert_eq!(
        result["reloaded"],
        json!([presets[sphere]["story"], sphere]),
        "a preset that is loaded again"
    );
    let (pull, story) = (&result["uncoupled"], &presets["Uncouple the pair"]["story"]);
    assert!(pull.as_str().unwrap().contains("left: pull of its other view 0.32"), "{pull}");
    assert!(story.as_str().unwrap().contains("their pull is 0.32"), "{story}");
    let gradients = numbers(&presets["No ridge, no gradient"]["gradient"]);
    assert!(gradients[0] < gradients[1] / 2e5, "{gradients:?}");
    for loss in result["rested"].as_array().unwrap() {
        assert!((numbers(loss)[0] - 16.0_f64.ln()).abs() < 1e-3, "it does not rest: {}", result["rested"]);
    }
    let clipped = numbers(&presets["What clipping does"]["gradient"]);
    assert!(clipped[0] < clipped[1] / 2.0, "{clipped:?}");
}

/// Asserts that the map of `HardNeg-CCLK` has the weights that core computes from the points, also after these have moved.
fn weights_are_those_of_the_points(shown: &Value) {
    let shown = shown.as_array().unwrap();
    for state in shown {
        assert!(state["title"].as_str().unwrap().contains("first views"), "{}", state["title"]);
        assert_eq!(state["weights"], "(K + \u{3bb}I)\u{207b}\u{b9}K");
        is_mass(state, &state["views"][0], 0.01);
    }
    assert_ne!(shown[0]["note"], shown[1]["note"], "the points have moved");
}

/// Asserts the factor of distances and the ridge of both forms of Kernel Decoupled Uniformity, by core's weights and loss.
fn forms_have_their_own_values(forms: &Value) {
    for (form, t, ridge) in [("released", "t = 2", 0.01), ("paper", "t = 1", 0.16)] {
        let shown = &forms[form];
        assert!(shown["values"].as_str().unwrap().starts_with(t), "{form}: {}", shown["values"]);
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
