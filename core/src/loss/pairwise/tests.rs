//! Objectives based on the pairwise loss, in both float types and with values that are not finite.
#![allow(clippy::unwrap_used)]

use burn::tensor::{DType, Device, Tensor, TensorData};
use serde_json::json;

use crate::loss;
use crate::loss::batch::Batch;
use crate::numeric::matrix::Matrix;

const SAMPLES: usize = 37;

fn values(count: usize, step: f64) -> Vec<f64> {
    (0..count).map(|i| (step * (i * i) as f64 + i as f64).sin()).collect()
}

/// Loss and gradients of the objective in a float type: in `f64` by the plain bodies, in tiles.
fn evaluate(name: &str, parameters: &serde_json::Value, dtype: DType) -> Vec<f64> {
    let view = |step| {
        let data = TensorData::new(values(SAMPLES * 9, step), [SAMPLES, 9]);
        Tensor::<2>::from_data(data, (&Device::flex(), dtype))
    };
    let labels = |kinds| (0..SAMPLES).map(|i| i % kinds).collect();
    let mut batch = Batch::views(view(0.37), view(0.21))
        .with_indices("labels", labels(5))
        .with_indices("bias", labels(3))
        .with_condition("z", Matrix::new(SAMPLES, 2, values(SAMPLES * 2, 0.11)).unwrap())
        .with_tile(Some(16));
    if name == "hardneg-cclk" {
        let of = |step| Matrix::new(SAMPLES, 2, values(SAMPLES * 2, step)).unwrap();
        batch = batch.with_condition("z_a", of(0.13)).with_condition("z_b", of(0.29));
    }
    let evaluation = loss::build(name, None, parameters.clone()).unwrap().evaluate(&batch).unwrap();
    let mut found = vec![evaluation.loss.into_data().iter::<f64>().next().unwrap()];
    evaluation.gradients.into_values().for_each(|g| found.extend(g.into_data().iter::<f64>()));
    found
}

#[test]
fn nan_is_not_taken_for_an_empty_sum() {
    for name in [
        "nt-xent",
        "supcon",
        "biascon",
        "dc",
        "dclw",
        "dcl",
        "hcl",
        "contex",
        "contex-p",
        "decoupled-uniformity",
    ] {
        let mut values: Vec<f32> = values(SAMPLES * 9, 0.37).into_iter().map(|v| v as f32).collect();
        values[40] = f32::NAN;
        let view = Tensor::<2>::from_data(TensorData::new(values, [SAMPLES, 9]), &Device::flex());
        let labels = |kinds| (0..SAMPLES).map(|i| i % kinds).collect();
        let batch = Batch::views(view.clone(), view)
            .with_indices("labels", labels(5))
            .with_indices("bias", labels(3));
        let objective = loss::build(name, None, json!({})).unwrap();
        if let Ok(evaluation) = objective.evaluate(&batch) {
            assert!(evaluation.loss.into_data().iter::<f64>().all(f64::is_nan), "{name}");
        }
    }
}

#[test]
fn single_precision_equals_double() {
    let of = |variant: &str, kernel: &str| {
        let kernel = match kernel {
            "rbf" => json!({ "name": "rbf", "sigma": 0.7 }),
            name => json!({ "name": name }),
        };
        json!({ "variant": variant, "lambda": 0.1, "kernel": kernel })
    };
    for (name, parameters) in [
        ("nt-xent", json!({})),
        ("nt-xent", json!({ "temperature": 0.05 })),
        ("nt-xent", json!({ "temperature": 0.01 })),
        ("supcon", json!({})),
        ("dc", json!({})),
        ("dclw", json!({ "temperature": 0.5 })),
        ("dcl", json!({})),
        ("hcl", json!({})),
        ("hcl", json!({ "beta": 0.5, "temperature": 0.2 })),
        ("contex", json!({ "temperature": 0.5 })),
        ("contex", json!({ "variant": "paper", "temperature": 0.2 })),
        ("fair-cclk", of("released", "cosine")),
        ("fair-cclk", of("released", "rbf")),
        ("fair-cclk", of("normalised", "cosine")),
        ("fair-cclk", of("normalised", "rbf")),
        ("hardneg-cclk", of("released", "cosine")),
        ("hardneg-cclk", of("released", "rbf")),
        ("hardneg-cclk", of("normalised", "rbf")),
        ("weaksup-cclk", of("released", "cosine")),
        ("contex-p", json!({ "temperature": 0.5 })),
        ("info-nce", json!({ "temperature": 0.1 })),
        ("fair-info-nce", json!({ "temperature": 0.1 })),
        ("biascon", json!({})),
        ("weaksup-cclk", of("normalised", "cosine")),
    ] {
        let (single, double) =
            (evaluate(name, &parameters, DType::F32), evaluate(name, &parameters, DType::F64));
        assert_eq!(single.len(), double.len());
        let largest = double.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
        for (found, expected) in single.iter().zip(&double) {
            assert!((found - expected).abs() < 1e-5 * largest, "{name} {parameters}: {found} {expected}");
        }
    }
}
