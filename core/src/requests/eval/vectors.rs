//! Reference vectors whose results a comparison of numbers alone does not prove, and the errors of these requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{DType, Device};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::requests::Request;
use crate::requests::outcome::Outcome;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors");

fn run(objective: &str, variant: Option<&str>, params: &Value, inputs: &Value) -> Result<Outcome> {
    let request = Request {
        objective: objective.into(),
        variant: variant.map(Into::into),
        params: params.clone(),
        inputs: inputs.as_object().unwrap().clone(),
    };
    pollster::block_on(request.run(&Device::flex(), DType::F64, None))
}

/// Calls `check` with every file of a kind and the outcome of its runner.
fn for_each(objective: &str, mut check: impl FnMut(&Value, &Outcome)) {
    let mut compared = 0;
    for entry in std::fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(&format!("{objective}__")) && name.ends_with(".json") {
            let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let variant = case["variant"].as_str();
            let outcome = run(objective, variant, &case["params"], &case["inputs"]);
            let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            check(&case, &outcome);
            compared += 1;
        }
    }
    assert!(compared > 0, "no vectors of {objective}");
}

/// Compares numbers in any nesting within `1e-9` relative and absolute; everything else exactly.
fn assert_close(value: &Value, expected: &Value, place: &str) {
    assert_within(value, expected, 1e-9, place);
}

fn assert_within(value: &Value, expected: &Value, tolerance: f64, place: &str) {
    match (value, expected) {
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            a.iter()
                .zip(b)
                .enumerate()
                .for_each(|(i, (a, b))| assert_within(a, b, tolerance, &format!("{place}[{i}]")));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{place}: {a} instead of {b}");
        }
        _ => assert_eq!(value, expected, "{place}"),
    }
}

/// With the accuracies that do not exist, `"nan"`, which the comparison of all vectors passes over.
#[test]
fn metrics_agree() {
    for_each("metrics", |case, outcome| {
        for (key, expected) in case["aux"].as_object().unwrap() {
            assert_close(&outcome.aux[key], expected, key);
        }
    });
}

#[test]
fn kmeans_reaches_the_bound() {
    for_each("kmeans", |case, outcome| {
        let bound = case["aux"]["inertia_bound"].as_f64().unwrap();
        assert!(outcome.aux["inertia"].as_f64().unwrap() <= bound * (1.0 + 1e-6));
        let mut partition: Vec<usize> =
            serde_json::from_value(case["aux"]["labels_of_best"].clone()).unwrap();
        crate::eval::cluster::rename_by_occurrence(&mut partition);
        assert_eq!(outcome.aux["labels_of_best"], json!(partition));
    });
}

fn class_centred(rows: &Value, classification: bool) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = serde_json::from_value(rows.clone()).unwrap();
    let count = rows.len() as f64;
    if classification {
        for j in 0..rows[0].len() {
            let mean = rows.iter().map(|row| row[j]).sum::<f64>() / count;
            rows.iter_mut().for_each(|row| row[j] -= mean);
        }
    }
    rows
}

#[test]
fn linear_probe_reaches_the_minimum() {
    for_each("linear-probe", |case, outcome| {
        let (aux, results) = (&case["aux"], &outcome.aux);
        let minimum = aux["minimum_found_by_bfgs"].as_f64().unwrap();
        assert!(outcome.loss.unwrap() <= minimum + 1e-5 * (1.0 + minimum.abs()));
        assert!((outcome.loss.unwrap() - minimum).abs() <= 1e-9 * (1.0 + minimum.abs()));
        let classification = case["params"]["criterion"] == "cross-entropy";
        for reference in ["weight", "optimum_weight"] {
            let weights = class_centred(&results["weight"], classification);
            let expected = class_centred(&aux[reference], classification);
            assert_within(&json!(weights), &json!(expected), 1e-3, reference);
        }
        assert_within(&results["bias_centred"], &aux["bias_centred"], 1e-3, "bias_centred");
        assert_close(&results["loss_at_init"], &aux["loss_at_init"], "loss_at_init");
        assert_close(
            &results["init_weight_class_mean"],
            &aux["init_weight_class_mean"],
            "init_weight_class_mean",
        );
        if classification {
            for key in ["train_accuracy", "test_accuracy", "test_predictions"] {
                assert_close(&results[key], &aux[key], key);
            }
            assert_within(&results["test_min_margin"], &aux["test_min_margin"], 1e-4, "test_min_margin");
        }
    });
}

#[test]
fn the_class_mean_of_the_bias_stays_as_given() {
    for_each("linear-probe", |case, outcome| {
        if case["params"]["criterion"] == "cross-entropy" {
            let mean = |value: &Value| {
                let values: Vec<f64> = serde_json::from_value(value.clone()).unwrap();
                values.iter().sum::<f64>() / values.len() as f64
            };
            assert!((mean(&outcome.aux["bias"]) - mean(&case["inputs"]["init_bias"])).abs() < 1e-9);
        }
    });
}

#[test]
fn unknown_parameters_and_variants_and_missing_inputs_are_named() {
    let points = json!({ "points": [[1.0], [2.0]] });
    let unknown = run("kmeans", None, &json!({ "k": 2, "clusters": 3 }), &points);
    let message = unknown.unwrap_err().to_string();
    assert!(message.contains("clusters") && message.contains("params"), "{message}");
    let variant = run("kmeans", Some("paper"), &json!({ "k": 2 }), &points);
    assert!(matches!(variant, Err(Error::Unknown { kind: "variant", .. })));
    for objective in ["colour-mse", "kmeans", "knn", "linear-probe", "metrics", "roc-auc", "worst-group"] {
        let params = match objective {
            "kmeans" => json!({ "k": 2 }),
            "knn" => json!({ "k": 1, "temperature": 0.5, "classes": 2 }),
            "linear-probe" => json!({ "reg": 0.1, "criterion": "mse", "classes": 2 }),
            "metrics" => json!({ "classes": 2, "biases": 2 }),
            _ => Value::Null,
        };
        let error = run(objective, None, &params, &json!({})).unwrap_err();
        assert!(matches!(error, Error::MissingInput { .. }), "{objective}: {error}");
    }
}

#[test]
fn counts_are_checked_before_a_table_of_that_size_is_made() {
    let rows = json!([[0.1, 0.9], [0.8, 0.2]]);
    for (name, params, inputs, key) in [
        (
            "metrics",
            json!({ "classes": 2, "biases": 1_000_000_000_000_u64 }),
            json!({ "logits": rows, "labels": [0, 1], "bias": [0, 1] }),
            "biases",
        ),
        (
            "knn",
            json!({ "k": 1, "classes": u64::MAX }),
            json!({ "bank": rows, "bank_labels": [0, 1], "queries": rows }),
            "classes",
        ),
        (
            "linear-probe",
            json!({ "reg": 0.1, "criterion": "cross-entropy", "classes": 1_000_000_000_000_u64 }),
            json!({ "features": rows, "labels": [0, 1] }),
            "classes",
        ),
    ] {
        let error = run(name, None, &params, &inputs).unwrap_err().to_string();
        assert!(error.contains(&format!("`{key}`")) && error.contains("at most"), "{name}: {error}");
    }
}

#[test]
fn labels_may_be_written_as_in_objectives() {
    let auc = |labels: Value| {
        let inputs = json!({ "scores": [0.1, 0.4, 0.35, 0.8], "labels": labels });
        run("roc-auc", None, &Value::Null, &inputs)
    };
    for labels in [json!([0, 0, 1, 1]), json!([0.0, 0.0, 1.0, 1.0]), json!([false, false, true, true])] {
        assert_eq!(auc(labels).unwrap().aux["auc"], 0.75);
    }
    for labels in [json!([0, 0, 1, 0.5]), json!([0, 0, 1, -1]), json!([0, 0, 1, "1"]), json!(1)] {
        assert!(auc(labels.clone()).unwrap_err().to_string().contains("`labels`"), "{labels}");
    }
    let probe = json!({ "features": [[1.0], [2.0]], "labels": null, "targets": [[1.0], [2.0]] });
    let params = json!({ "reg": 0.1, "criterion": "mse", "classes": 1 });
    assert!(run("linear-probe", None, &params, &probe).is_ok());
}

#[test]
fn inputs_of_another_type_are_named() {
    let scores = json!({ "scores": "many", "labels": [1] });
    let error = run("roc-auc", None, &Value::Null, &scores).unwrap_err();
    assert!(error.to_string().contains("`scores`"));
    let ragged = json!({ "points": [[1.0, 2.0], [3.0]] });
    let error = run("kmeans", None, &json!({ "k": 1 }), &ragged).unwrap_err();
    assert!(error.to_string().contains("row 1"));
}
