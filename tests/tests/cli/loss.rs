//! `simile loss`: one objective on the numbers of a file.

use std::fs;

use serde_json::{Value, json};
use simile_tests::place;
use tempfile::TempDir;

use crate::support::program::{complaint, json as answer, json_of, simile, stderr_of, stdout, stdout_of};
use crate::support::recipes::place_with;

fn case(objective: &str, params: Value) -> Value {
    json!({
        "objective": objective,
        "params": params,
        "inputs": {
            "view_a": [[1.0, 2.0, 3.0], [2.0, 1.0, -1.0], [-1.0, 1.0, 2.0], [3.0, -2.0, 1.0]],
            "view_b": [[1.0, 2.0, 2.0], [1.0, 1.0, -1.0], [-1.0, 2.0, 2.0], [3.0, -1.0, 1.0]],
            "z": [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        },
    })
}

fn written(case: &Value) -> TempDir {
    place_with("case.json", &case.to_string())
}

#[test]
fn a_case_gives_loss_gradients_and_the_rest() {
    let place = written(&case("nt-xent", json!({ "temperature": 0.5 })));
    let evaluation = answer(place.path(), &["loss", "case.json"]);
    assert!((evaluation["loss"].as_f64().unwrap() - 0.897_731_19).abs() < 1e-8, "{}", evaluation["loss"]);
    assert_eq!(evaluation["grads"]["view_a"].as_array().unwrap().len(), 4);
    assert_eq!(evaluation["grads"]["view_b"][3].as_array().unwrap().len(), 3);
    assert!(evaluation["aux"].is_object());
}

#[test]
fn a_case_comes_from_standard_input_too() {
    let place = place();
    let text = case("nt-xent", json!({ "temperature": 0.5 })).to_string();
    let output = simile(place.path(), &["loss", "-"]).write_stdin(text).assert().success();
    let evaluation = json_of(output.get_output());
    assert!((evaluation["loss"].as_f64().unwrap() - 0.897_731_19).abs() < 1e-8, "{}", evaluation["loss"]);
}

#[test]
fn a_case_without_an_answer_does_not_take_the_others_along() {
    let place = written(&case("nt-xent", json!({ "temperature": 0.5 })));
    fs::write(place.path().join("wrong.json"), case("nt-xnt", json!({})).to_string()).unwrap();
    let cases = ["loss", "case.json", "wrong.json", "case.json"];
    let output = simile(place.path(), &cases).assert().failure().code(1).get_output().clone();
    let answers = stdout_of(&output);
    assert_eq!(answers.lines().count(), 2, "{answers}");
    let text = stderr_of(&output);
    assert!(
        text.contains("wrong.json: unknown objective `nt-xnt`") && text.contains("1 of 3 requests"),
        "{text}"
    );
}

#[test]
fn precision_and_tiles_change_rounding_alone() {
    let place = written(&case("fair-cclk", json!({ "variant": "released", "kernel": { "name": "cosine" } })));
    let exact = answer(place.path(), &["loss", "case.json"])["loss"].as_f64().unwrap();
    for arguments in [&["--precision", "f32"][..], &["--tile", "1"], &["--tile", "3", "--device", "cpu"]] {
        let loss =
            answer(place.path(), &[&["loss", "case.json"], arguments].concat())["loss"].as_f64().unwrap();
        assert!((loss - exact).abs() < 1e-5, "{arguments:?}: {loss} instead of {exact}");
    }
}

/// Files of reference numbers state such keys.
#[test]
fn a_key_that_a_case_only_states_changes_no_answer() {
    let kernel = || json!({ "name": "rbf", "sigma": 1.0 });
    let mut stated = kernel();
    stated["formula"] = "exp(-||z-z'||^2/(2 sigma^2))".into();
    for (objective, plain, with) in [
        ("info-nce", json!({}), json!({ "similarity": "cosine" })),
        ("kernel-decoupled-uniformity", json!({}), json!({ "lambda_effective": 0.01 })),
        ("moco", json!({}), json!({ "K": 4 })),
        ("rebias-hsic", json!({}), json!({ "kernel": "exp(-||.||^2/(2 sigma^2))" })),
        ("swav", json!({}), json!({ "nmb_crops": 2 })),
        ("fair-cclk", json!({ "kernel": kernel() }), json!({ "kernel": stated })),
        ("kceo-weights", json!({ "kernel": kernel() }), json!({ "kernel": stated })),
    ] {
        let answer_to = |params: Value| {
            let mut case = case(objective, params);
            let rows = case["inputs"]["view_b"].clone();
            case["inputs"][if objective == "moco" { "queue" } else { "prototypes" }] = rows;
            answer(written(&case).path(), &["loss", "case.json"])
        };
        assert_eq!(answer_to(with), answer_to(plain), "{objective}");
    }
    let other = written(&case("info-nce", json!({ "similarity": "dot" })));
    assert!(complaint(other.path(), &["loss", "case.json"], 2).contains("unknown field `similarity`"));
}

#[test]
fn what_is_not_known_is_a_usage_error() {
    let place = written(&case("nt-xnt", json!({})));
    let text = complaint(place.path(), &["loss", "case.json"], 2);
    assert!(text.contains("nt-xnt") && text.contains("nt-xent"), "{text}");
    let place = written(&case("nt-xent", json!({ "temprature": 0.5 })));
    let text = complaint(place.path(), &["loss", "case.json"], 2);
    assert!(text.contains("temprature") && text.contains("temperature"), "{text}");
    let place = written(&case("nt-xent", json!({ "temperature": 0.0 })));
    complaint(place.path(), &["loss", "case.json"], 2);
}

#[test]
fn a_case_that_cannot_be_used_says_why() {
    let place = place();
    assert!(complaint(place.path(), &["loss", "case.json"], 1).contains("case.json"));
    let mut broken = case("nt-xent", json!({}));
    broken["inputs"].as_object_mut().unwrap().remove("view_b");
    let place = written(&broken);
    assert!(complaint(place.path(), &["loss", "case.json"], 1).contains("view_b"));
    let mut broken = case("nt-xent", json!({}));
    broken["inputs"]["view_a"][1][2] = Value::Null;
    let text = complaint(written(&broken).path(), &["loss", "case.json"], 1);
    assert!(text.contains("`view_a` has null, expected a list of rows of numbers"), "{text}");
}

#[test]
fn an_objective_is_described_in_words_and_as_a_document() {
    let place = place();
    let words = stdout(place.path(), &["loss", "--describe", "fair-cclk"]);
    for part in [
        "fair-cclk: Fair-CCLK",
        "(b-1) sum_j w_ij (exp s_ij + exp s_ij')/2",
        "view_a",
        "[b, d]",
        "temperature",
        "1e-12 to 1e12",
        "normalised (default)",
        "trained by method single, cached",
    ] {
        assert!(words.contains(part), "{part} in\n{words}");
    }
    let document = answer(place.path(), &["loss", "--describe", "lff", "--json"]);
    assert_eq!(document["networks"], "biased");
    assert_eq!(document["inputs"][3]["needed"], "optional");
    assert_eq!(
        (&document["parameters"][0]["name"], &document["parameters"][0]["default"]),
        (&json!("q"), &json!(0.7))
    );
    // Papers and reports write titles.
    for (name, near) in [("fair-clk", "fair-cclk"), ("Fair-CCLK", "fair-cclk"), ("infoNCE", "info-nce")] {
        let error = complaint(place.path(), &["loss", "--describe", name], 2);
        assert!(error.contains(&format!("did you mean `{near}`?")), "{error}");
    }
}
