//! `result.json` conforms to `native/schema/result.schema.json`.

use serde_json::{Value, json};
use simile_tests::place;
use simile_tests::schema::violations;

use crate::support::program::simile;
use crate::support::run::{result, result_schema};

#[test]
fn a_run_that_chooses_its_encoder_is_valid() {
    let place = place();
    let set = ["--set", "selection={ held_out = 64, every = 1, patience = 1 }", "--variant", "SimCLR"];
    simile(place.path(), &[&["train", "fair-digits", "--smoke", "--out", "run"], &set[..]].concat())
        .assert()
        .success();
    let result = result(&place.path().join("run"));
    assert!(!result["arms"][0]["evaluations"].as_array().unwrap().is_empty());
    assert_eq!(violations(&result_schema(), &result), [""; 0]);
}

/// Numeric and categorical conditions have different metrics.
#[test]
fn real_results_are_valid() {
    let place = place();
    for (condition, out) in [("colour", "numeric"), ("palette", "categorical")] {
        let probe = format!("probe.condition={condition}");
        simile(place.path(), &["train", "fair-digits", "--smoke", "--set", &probe, "--out", out])
            .assert()
            .success();
        let result = result(&place.path().join(out));
        assert_eq!(violations(&result_schema(), &result), [""; 0]);
        let metrics = result["arms"][0]["metrics"].as_object().unwrap();
        let known = result_schema()["$defs"]["metrics"]["properties"].as_object().unwrap().clone();
        let undocumented: Vec<&String> = metrics.keys().filter(|name| !known.contains_key(*name)).collect();
        assert!(undocumented.is_empty(), "the schema does not describe {undocumented:?}");
    }
}

#[test]
fn what_is_no_result_is_found() {
    let metrics = json!({ "top1": 0.5, "condition_r2": -3.0 });
    let variant = json!({ "name": "a", "objective": "nt-xent", "iterations": 2, "final_loss": 1.5, "training_seconds": 0.1, "metrics": metrics, "protocol": "" });
    let whole = json!({ "recipe": "r", "condition": "c", "seed": 0, "device": "cpu", "version": "0", "seconds": 1.0, "arms": [variant] });
    assert_eq!(violations(&result_schema(), &whole), [""; 0]);
    let broken = |pointer: &str, value: Value| {
        let mut result = whole.clone();
        *result.pointer_mut(pointer).unwrap() = value;
        violations(&result_schema(), &result)
    };
    for (pointer, value) in [
        ("/seed", json!(-1)),
        ("/seed", json!(1.5)),
        ("/arms", json!([])),
        ("/arms/0/metrics/top1", json!(50.0)),
        ("/arms/0/metrics/top1", json!(null)),
        ("/arms/0/metrics", json!({})),
        ("/arms/0/iterations", json!("2")),
    ] {
        assert_eq!(broken(pointer, value.clone()).len(), 1, "{pointer} = {value}");
    }
    let mut wider = whole.clone();
    wider["extra"] = json!(1);
    assert_eq!(violations(&result_schema(), &wider), ["$.extra may not be there"]);
}
