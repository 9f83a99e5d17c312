//! Gradients of objectives whose weights depend on the embeddings but are constants: differences of the
//! formula with the weights that the evaluation reports.

use burn::tensor::DType;
use serde_json::{Value, json};
use simile_core::loss;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{Draws, Inputs, batches, evaluate};
use crate::gradients::error_along;

fn matrix(value: &Value) -> Matrix {
    serde_json::from_value(value.clone()).unwrap()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `1/(2b) sum_i [ log( exp own + N g ) - own ]` with given weights of the negatives.
fn weighted(a: &Matrix, b: &Matrix, weights: &Matrix, temperature: f64, correction: &str) -> f64 {
    const TAU_PLUS: f64 = 0.02;
    let n = a.rows();
    let rows: Vec<&[f64]> = a.iter_rows().chain(b.iter_rows()).collect();
    let count = (2 * n - 2) as f64;
    let term = |i: usize| {
        let similarity = |j: usize| dot(rows[i], rows[j]) / temperature;
        let other = (i + n) % (2 * n);
        let own = similarity(other);
        let negatives: Vec<(f64, f64)> = ((0..2 * n).filter(|&j| j != i && j != other))
            .zip(weights.row(i))
            .map(|(j, &w)| (w, similarity(j)))
            .collect();
        let sum = |power: f64, weigh: bool| -> f64 {
            negatives.iter().map(|&(w, s)| if weigh { w } else { 1.0 } * (power * s).exp()).sum()
        };
        let corrected = |sum: f64| {
            ((sum - TAU_PLUS * count * own.exp()) / (1.0 - TAU_PLUS)).max(count * (-1.0 / temperature).exp())
        };
        let denominator = match correction {
            "none" => sum(1.0, true),
            "dcl" => corrected(sum(1.0, true)),
            _ => corrected(sum(2.0, true) / sum(1.0, false) * count),
        };
        (own.exp() + denominator).ln() - own
    };
    (0..2 * n).map(term).sum::<f64>() / (2 * n) as f64
}

#[test]
fn difficulty_weights_are_constants() {
    for (kind, labels, bias) in batches().into_iter().filter(|(_, labels, _)| labels.len() > 1) {
        for (seed, correction) in ["none", "dcl", "hcl"].into_iter().enumerate() {
            for variant in ["paper", "released"] {
                let params = json!({ "temperature": 0.4, "correction": correction, "tau_plus": 0.02 });
                let objective = loss::build("wcl-weighted-infonce", Some(variant), params).unwrap();
                let inputs = Inputs::for_all_objectives(&labels, &bias, 4, seed as u64).with_unit_rows();
                let (a, b) = (&inputs.tensors["view_a"], &inputs.tensors["view_b"]);
                let batch = inputs.batch(DType::F64).with_details(true);
                let outcome = evaluate(objective.as_ref(), &batch).unwrap();
                let weights = matrix(&outcome.aux["weights"]);
                assert!(weights.data().iter().all(|w| (1.0..=2.0).contains(w)));

                let expected = weighted(a, b, &weights, 0.4, correction);
                assert!((outcome.loss - expected).abs() < 1e-10, "{kind} {correction} {variant}");
                let mut draws = Draws::new(seed as u64);
                let of_a = |a: &Matrix| weighted(a, b, &weights, 0.4, correction);
                let of_b = |b: &Matrix| weighted(a, b, &weights, 0.4, correction);
                let errors = [
                    error_along(&of_a, a, &outcome.gradients["view_a"], &mut draws),
                    error_along(&of_b, b, &outcome.gradients["view_b"], &mut draws),
                ];
                assert!(errors.iter().all(|e| *e < 1e-6), "{kind} {correction} {variant}: {errors:?}");
            }
        }
    }
}

#[test]
fn assignments_are_constants() {
    let views = ["view_a", "view_b", "view_c"];
    for (seed, (kind, labels, bias)) in batches().into_iter().enumerate() {
        let inputs = Inputs::random("swav", &labels, &bias, 4, seed as u64);
        let objective = loss::build("swav", None, json!({ "temperature": 0.3 })).unwrap();
        let outcome = evaluate(objective.as_ref(), &inputs.batch(DType::F64).with_details(true)).unwrap();
        let assigned =
            [(0, matrix(&outcome.aux["assignments_a"])), (1, matrix(&outcome.aux["assignments_b"]))];
        let value = |inputs: &Inputs| {
            let prototypes = crate::batches::unit(&inputs.tensors["prototypes"]);
            let mut loss = 0.0;
            for (crop, assignment) in &assigned {
                for (_, name) in views.iter().enumerate().filter(|(v, _)| v != crop) {
                    let rows = crate::batches::unit(&inputs.tensors[*name]);
                    for (row, target) in rows.iter_rows().zip(assignment.iter_rows()) {
                        let logits: Vec<f64> = prototypes.iter_rows().map(|p| dot(row, p) / 0.3).collect();
                        let log_sum = logits.iter().map(|l| l.exp()).sum::<f64>().ln();
                        loss -= logits.iter().zip(target).map(|(l, q)| q * (l - log_sum)).sum::<f64>();
                    }
                }
            }
            loss / (2 * 2 * labels.len()) as f64
        };
        assert!((outcome.loss - value(&inputs)).abs() < 1e-10, "{kind}");
        for (name, gradient) in &outcome.gradients {
            let moved = |matrix: &Matrix| {
                let mut inputs = inputs.clone();
                inputs.tensors.insert(name.clone(), matrix.clone());
                value(&inputs)
            };
            let error = error_along(&moved, &inputs.tensors[name], gradient, &mut Draws::new(seed as u64));
            assert!(error < 1e-6, "{kind}: {name} {error:.1e}");
        }
    }
}
