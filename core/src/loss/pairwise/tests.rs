//! Objectives based on the pairwise loss, in both float types and with values that are not finite.
#![allow(clippy::unwrap_used)]

use burn::tensor::{DType, Device, Tensor, TensorData};
use serde_json::{Value, json};

use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::pairwise::{LogSumExp, PairwiseLoss, Positives, other_view};
use crate::loss::spec::{Conditioning, Spec};
use crate::numeric::matrix::Matrix;

const SAMPLES: usize = 37;

fn values(count: usize, step: f64) -> Vec<f64> {
    (0..count).map(|i| (step * (i * i) as f64 + i as f64).sin()).collect()
}

/// Loss and gradients of the objective in a float type: in `f64` by the plain bodies, in tiles.
fn evaluate(name: &str, parameters: &Value, dtype: DType) -> Vec<f64> {
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
    if loss::spec(name).unwrap().conditioning() == Conditioning::Representation {
        let of = |step| Matrix::new(SAMPLES, 2, values(SAMPLES * 2, step)).unwrap();
        batch = batch.with_condition("z_a", of(0.13)).with_condition("z_b", of(0.29));
    }
    let evaluation = loss::build(name, None, parameters.clone()).unwrap().evaluate(&batch).unwrap();
    let mut loss_and_gradients = vec![evaluation.loss.into_data().iter::<f64>().next().unwrap()];
    evaluation.gradients.into_values().for_each(|g| loss_and_gradients.extend(g.into_data().iter::<f64>()));
    loss_and_gradients
}

/// They were called `view_b` and `view_a`, also where no view was compared.
#[test]
fn rows_that_cannot_be_compared_are_named_as_the_arguments_are() {
    let refused = |[anchors, candidates]: [[usize; 2]; 2]| {
        let rows =
            |[rows, columns]: [usize; 2]| Matrix::zeros(rows, columns).to_tensor(&Device::flex(), DType::F64);
        let compared = PairwiseLoss::new(rows(anchors), rows(candidates), 0.5, None);
        compared.map(drop).unwrap_err().to_string()
    };
    assert_eq!(refused([[2, 4], [3, 5]]), "`candidates` has 5 columns, expected 4 columns");
    assert_eq!(refused([[0, 4], [3, 4]]), "`anchors` has none, expected at least one row");
}

/// The gradient of one loss of all anchors that leaves a log-sum-exp unused.
#[test]
fn an_unused_reduction_adds_nothing_to_the_gradient_of_one_loss() {
    let data = TensorData::new(values(24, 0.37), [6, 4]);
    let rows = Tensor::<2>::from_data(data, (&Device::flex(), DType::F64));
    let gradient = |is_extended: bool| {
        let mut pairs = PairwiseLoss::within(rows.clone(), 0.5, None).unwrap();
        let others = pairs.add_log_sum_exp(LogSumExp::other_rows(6));
        if is_extended {
            pairs.add_log_sum_exp(LogSumExp::other_samples(3));
            pairs.add_mean(Positives::Partner(other_view(3)));
        }
        let result = pairs.evaluate(|reductions| reductions.log_sum_exp(others).sum()).unwrap();
        (result.grad_anchors + result.grad_candidates).into_data().iter::<f64>().collect::<Vec<_>>()
    };
    for (extended, expected) in gradient(true).into_iter().zip(gradient(false)) {
        assert!((extended - expected).abs() < 1e-12, "{extended} {expected}");
    }
}

#[test]
fn nan_is_not_taken_for_an_empty_sum() {
    let is_on_pairs = |spec: &&Spec| spec.compares_views() && !spec.solves();
    for name in loss::specs().filter(is_on_pairs).map(|spec| spec.name) {
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

/// Every form of the objectives on pairs, at temperatures of 0.5, 0.05 and 0.01 and with kernels.
fn settings() -> impl Iterator<Item = (&'static str, Value)> {
    let kernels = [json!({ "name": "cosine" }), json!({ "name": "rbf", "sigma": 0.7 })];
    loss::specs().filter(|spec| spec.compares_views()).flat_map(move |spec| {
        let settings: Vec<Value> = match (spec.solves(), spec.parameter("temperature")) {
            (true, _) => kernels.iter().map(|kernel| json!({ "lambda": 0.1, "kernel": kernel })).collect(),
            (false, None) => vec![json!({})],
            (false, _) => [0.5, 0.05, 0.01].map(|temperature| json!({ "temperature": temperature })).into(),
        };
        let forms: Vec<&str> = spec.variants.iter().map(|form| form.name).collect();
        let forms = if forms.is_empty() { vec!["paper"] } else { forms };
        let with = move |form: &str, mut setting: Value| {
            setting["variant"] = form.into();
            (spec.name, setting)
        };
        forms.into_iter().flat_map(move |form| settings.clone().into_iter().map(move |of| with(form, of)))
    })
}

#[test]
fn single_precision_equals_double() {
    for (name, parameters) in settings() {
        // Weights of either sign lose digits, as the page of `weaksup-cclk` says.
        let has_signs = loss::spec(name).unwrap().solves() && parameters["variant"] == "paper";
        let tolerance = if has_signs { 3e-4 } else { 1e-5 };
        let (single, double) =
            (evaluate(name, &parameters, DType::F32), evaluate(name, &parameters, DType::F64));
        assert_eq!(single.len(), double.len());
        let largest = double.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
        for (value, expected) in single.iter().zip(&double) {
            assert!(
                (value - expected).abs() < tolerance * largest,
                "{name} {parameters}: {value} {expected}"
            );
        }
    }
}
