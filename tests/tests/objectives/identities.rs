//! Objectives that are special cases of each other.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device};
use serde_json::{Value, json};
use simile_core::loss;
use simile_core::loss::Aux;
use simile_core::loss::batch::Batch;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{Inputs, Outcome, evaluate, unit};

fn outcome(name: &str, variant: &str, params: Value, batch: &Batch) -> Outcome {
    evaluate(loss::build(name, Some(variant), params).unwrap().as_ref(), batch).unwrap()
}

fn assert_same(outcome: &Outcome, expected: &Outcome) {
    assert!((outcome.loss - expected.loss).abs() < 1e-11, "{} and {}", outcome.loss, expected.loss);
    for (name, gradient) in &expected.gradients {
        let pairs = gradient.data().iter().zip(outcome.gradients[name].data());
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-11, "gradient of {name} is off by {worst:.1e}");
    }
}

fn inputs() -> Inputs {
    Inputs::for_all_objectives(&[0, 1, 0, 2, 1, 0], &[0, 1, 1, 0, 1, 2], 4, 11)
}

#[test]
fn supcon_with_singleton_classes_is_nt_xent() {
    let batch = inputs().batch(DType::F64).with_indices("labels", (0..6).collect());
    let params = || json!({ "temperature": 0.3 });
    assert_same(
        &outcome("supcon", "paper", params(), &batch),
        &outcome("nt-xent", "paper", params(), &batch),
    );
}

#[test]
fn clustered_info_nce_is_supcon_and_the_released_factor_is_one_at_the_base_temperature() {
    let batch = inputs().batch(DType::F64);
    let params = || json!({ "temperature": 0.07 });
    let supcon = outcome("supcon", "paper", params(), &batch);
    assert_same(&outcome("weaksup-info-nce", "paper", params(), &batch), &supcon);
    assert_same(&outcome("weaksup-info-nce", "released", params(), &batch), &supcon);
}

#[test]
fn hcl_without_concentration_is_dcl() {
    let batch = inputs().batch(DType::F64);
    for (temperature, tau_plus) in [(0.5, 0.1), (0.2, 0.3)] {
        let dcl = json!({ "temperature": temperature, "tau_plus": tau_plus });
        let hcl = json!({ "temperature": temperature, "tau_plus": tau_plus, "beta": 0.0 });
        assert_same(&outcome("hcl", "paper", hcl, &batch), &outcome("dcl", "paper", dcl, &batch));
    }
}

#[test]
fn dcl_without_correction_is_nt_xent() {
    let batch = inputs().batch(DType::F64);
    let dcl = outcome("dcl", "paper", json!({ "temperature": 0.3, "tau_plus": 0.0 }), &batch);
    assert_same(&dcl, &outcome("nt-xent", "paper", json!({ "temperature": 0.3 }), &batch));
}

#[test]
fn difficulty_weights_of_equal_networks_are_half_way() {
    // Both networks agree, so each weight is 1 + 1/2 and the loss is that of negatives counted one and a half times.
    let mut inputs = inputs().with_unit_rows();
    for view in ["view_a", "view_b"] {
        let rows = inputs.tensors[view].clone();
        inputs.tensors.insert(format!("{view}_biased"), rows);
    }
    let params = json!({ "temperature": 0.3 });
    let batch = inputs.batch(DType::F64).with_details(true);
    let outcome = outcome("wcl-weighted-infonce", "paper", params, &batch);
    let weights: Vec<Vec<f64>> = serde_json::from_value(outcome.aux["weights"].clone()).unwrap();
    assert!(weights.iter().flatten().all(|w| (w - 1.5).abs() < 1e-12));
}

/// The weights as `core/src/loss/debias/wcl/weighted.rs` prints them, pair by pair.
#[test]
fn difficulty_weights_are_those_of_the_printed_formulas() {
    let (b, temperature) = (6, 0.3);
    let inputs = inputs();
    let rows = |first: &str, second: &str| -> Vec<Vec<f64>> {
        let views = [unit(&inputs.tensors[first]), unit(&inputs.tensors[second])];
        (0..2 * b).map(|i| views[i / b].row(i % b).to_vec()).collect()
    };
    let networks = [rows("view_a", "view_b"), rows("view_a_biased", "view_b_biased")];
    let negatives = |i: usize| (0..2 * b).filter(move |j| j % b != i % b);
    let product = |rows: &[Vec<f64>], i: usize, j: usize| -> f64 {
        rows[i].iter().zip(&rows[j]).map(|(x, y)| x * y).sum()
    };
    let distance = |rows: &[Vec<f64>], i: usize, j: usize| 2.0 - 2.0 * product(rows, i, j);
    let largest = |rows: &[Vec<f64>]| {
        let pairs = (0..2 * b).flat_map(|i| negatives(i).map(move |j| (i, j)));
        pairs.map(|(i, j)| distance(rows, i, j)).fold(0.0, f64::max)
    };
    let measure = |variant: &str, rows: &[Vec<f64>], i: usize, j: usize| -> f64 {
        let similarity = |j: usize| (product(rows, i, j) / temperature).exp();
        match variant {
            "paper" => distance(rows, i, j) / largest(rows),
            _ => similarity(j) / negatives(i).map(|j| similarity(j).powi(2)).sum::<f64>().sqrt(),
        }
    };
    for (variant, added) in [("paper", 0.0), ("released", 1e-6)] {
        let batch = inputs.batch(DType::F64).with_details(true);
        let outcome = outcome("wcl-weighted-infonce", variant, json!({ "temperature": temperature }), &batch);
        let weights: Vec<Vec<f64>> = serde_json::from_value(outcome.aux["weights"].clone()).unwrap();
        for (i, row) in weights.iter().enumerate() {
            assert_eq!(row.len(), 2 * b - 2);
            for (j, weight) in negatives(i).zip(row) {
                let [of_debiased, of_biased] = networks.each_ref().map(|rows| measure(variant, rows, i, j));
                let expected = 1.0 + of_debiased / (of_debiased + of_biased + added);
                assert!((weight - expected).abs() < 1e-9, "{variant} {i} {j}: {weight}, not {expected}");
            }
        }
    }
}

/// In single precision `|x|² + |y|² - 2 x y` of equal rows is not 0, and rounding would decide which network sees them apart.
#[test]
fn equal_samples_are_half_way_in_single_precision() {
    let rows = Matrix::from_fn(8, 48, |i, j| ((i / 2 * 31 + j * 17) as f64).sin());
    let others = Matrix::from_fn(8, 48, |i, j| ((i / 2 * 13 + j * 29) as f64).cos());
    for distance in ["squared", "euclidean"] {
        let batch =
            [("view_a", &rows), ("view_b", &rows), ("view_a_biased", &others), ("view_b_biased", &others)]
                .into_iter()
                .fold(Batch::default().with_details(true), |batch, (name, rows)| {
                    batch.with_tensor(name, rows.to_tensor(&Device::flex(), DType::F32))
                });
        let outcome = outcome("wcl-weighted-infonce", "paper", json!({ "distance": distance }), &batch);
        let weights: Vec<Vec<f64>> = serde_json::from_value(outcome.aux["weights"].clone()).unwrap();
        // Of sample 0, the columns without the own pair begin with that of sample 1, which is equal.
        assert!(weights.iter().all(|row| row.contains(&1.5)), "{distance}: {weights:?}");
        assert_eq!(weights[0][0], 1.5, "{distance}");
    }
}

#[test]
fn kernel_uniformity_with_unrelated_samples_is_uniformity() {
    let batch = inputs().batch(DType::F64).with_condition("z", Matrix::from_fn(6, 1, |i, _| i as f64));
    let kernel = json!({ "t": 2.0, "lambda": 0.0, "kernel": { "name": "exact-match" } });
    let with_kernel = outcome("kernel-decoupled-uniformity", "paper", kernel, &batch);
    assert_same(&with_kernel, &outcome("decoupled-uniformity", "paper", json!({ "t": 2.0 }), &batch));
}

#[test]
fn uniformity_of_one_view_twice_is_that_of_wang_and_isola() {
    let mut inputs = inputs();
    let rows = inputs.tensors["view_a"].clone();
    inputs.tensors.insert("view_b".into(), rows.clone());
    inputs.tensors.insert("view_c".into(), rows);
    let batch = inputs.batch(DType::F64);
    let decoupled = outcome("decoupled-uniformity", "released", json!({ "t": 1.5 }), &batch);
    let separate = outcome("align-uniform", "released", json!({ "t": 1.5 }), &batch);
    assert!((decoupled.loss - separate.loss).abs() < 1e-12);
}

#[test]
fn dc_is_nt_xent_without_its_positive() {
    // exp(DC) + 1 = exp(NT-Xent) for each anchor; tested on a batch whose anchors are all alike.
    let corners = Matrix::from_fn(4, 4, |i, j| f64::from(u8::from(i == j)));
    let batch = Batch::views(
        crate::batches::place(&corners, DType::F64),
        crate::batches::place(&corners, DType::F64),
    );
    let dc = outcome("dc", "paper", json!({ "temperature": 0.5 }), &batch).loss;
    let nt_xent = outcome("nt-xent", "paper", json!({ "temperature": 0.5 }), &batch).loss;
    assert!((dc.exp() + 1.0 - nt_xent.exp()).abs() < 1e-12);
}

/// `exp s_ij` across the views, and the clusters by sample.
fn similarities(inputs: &Inputs, temperature: f64) -> Matrix {
    let (a, b) = (unit(&inputs.tensors["view_a"]), unit(&inputs.tensors["view_b"]));
    let dot = |i: usize, j: usize| a.row(i).iter().zip(b.row(j)).map(|(x, y)| x * y).sum::<f64>();
    Matrix::from_fn(a.rows(), a.rows(), |i, j| (dot(i, j) / temperature).exp())
}

#[test]
fn an_exact_match_kernel_conditions_on_clusters() {
    const LAMBDA: f64 = 0.2;
    let inputs = inputs();
    let clusters = inputs.indices["labels"].clone();
    let b = clusters.len();
    let z = Matrix::from_fn(b, 1, |i, _| clusters[i] as f64);
    let mut batch = inputs.batch(DType::F64);
    for name in ["z", "z_a", "z_b"] {
        batch = batch.with_condition(name, z.clone());
    }
    let mut sizes = BTreeMap::new();
    for cluster in &clusters {
        *sizes.entry(*cluster).or_insert(0.0) += 1.0;
    }
    let exponentials = similarities(&inputs, 0.4);
    // `W` averages over the cluster, the own pair included: weights of 1 / (size + lambda).
    let estimate = |i: usize| {
        let members = (0..b).filter(|&j| clusters[j] == clusters[i]);
        members.map(|j| exponentials[(i, j)]).sum::<f64>() / (sizes[&clusters[i]] + LAMBDA)
    };
    let params = json!({ "temperature": 0.4, "lambda": LAMBDA, "kernel": { "name": "exact-match" } });

    let fair = (0..b).map(|i| {
        let own = exponentials[(i, i)];
        ((own + (b - 1) as f64 * estimate(i)) / own).ln()
    });
    let loss = outcome("fair-cclk", "paper", params.clone(), &batch).loss;
    assert!((loss - fair.sum::<f64>() / b as f64).abs() < 1e-10);

    let weak = (0..b).map(|i| {
        let others: f64 = (0..b).filter(|&j| j != i).map(|j| exponentials[(i, j)]).sum();
        ((estimate(i) + others) / estimate(i)).ln()
    });
    let loss = outcome("weaksup-cclk", "paper", params, &batch).loss;
    assert!((loss - weak.sum::<f64>() / b as f64).abs() < 1e-10);
}

#[test]
fn a_shared_cluster_makes_the_normalised_fair_loss_nt_xent_of_half_the_negatives() {
    // With one cluster every other sample has weight 1 / (b - 1): the sum over both views of it, halved.
    let inputs = inputs().with_unit_rows();
    let b = 6;
    let batch = inputs.batch(DType::F64);
    let batch =
        ["z", "z_a", "z_b"].iter().fold(batch, |batch, z| batch.with_condition(z, Matrix::zeros(b, 1)));
    let params = json!({ "temperature": 0.4, "lambda": 0.1, "kernel": { "name": "exact-match" } });
    let loss = outcome("fair-cclk", "normalised", params, &batch).loss;

    let rows: Vec<Vec<f64>> = ["view_a", "view_b"]
        .iter()
        .flat_map(|view| inputs.tensors[*view].iter_rows().map(<[f64]>::to_vec).collect::<Vec<_>>())
        .collect();
    let similarity =
        |i: usize, j: usize| (rows[i].iter().zip(&rows[j]).map(|(x, y)| x * y).sum::<f64>() / 0.4).exp();
    let term = |i: usize| {
        let other = (i + b) % (2 * b);
        let negatives: f64 = (0..2 * b).filter(|&j| j != i && j != other).map(|j| similarity(i, j)).sum();
        (1.0 + negatives / 2.0 / similarity(i, other)).ln()
    };
    let expected = (0..2 * b).map(term).sum::<f64>() / (2 * b) as f64;
    assert!((loss - expected).abs() < 1e-10, "{loss} and {expected}");
}

/// The contributions of the positive pairs and of the rest, as the objective reports them.
fn parts(name: &str, variant: &str, params: Value, batch: &Batch) -> (f64, f64) {
    let objective = loss::build(name, Some(variant), params).unwrap();
    let evaluation = objective.evaluate(&batch.clone().with_details(true)).unwrap();
    let part = |part: &str| {
        let Aux::Scalar(scalar) = &evaluation.aux[part] else { unreachable!("{name}") };
        scalar.clone().into_data().iter::<f64>().next().unwrap()
    };
    (part("positive"), part("negative"))
}

#[test]
fn objectives_of_the_same_positives_state_the_same_positive_part() {
    let batch = inputs().batch(DType::F64).with_indices("labels", (0..6).collect());
    let (positive, _) = parts("nt-xent", "paper", json!({ "temperature": 0.3 }), &batch);
    let views = ["view_a", "view_b"].map(|name| batch.host("test", name).unwrap());
    let cosines = (0..6).map(|i| {
        let [a, b] = [0, 1].map(|view| views[view].row(i));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    });
    assert!((positive + cosines.sum::<f64>() / (6.0 * 0.3)).abs() < 1e-11);

    let temperature = json!({ "temperature": 0.3 });
    let kernel = json!({ "temperature": 0.3, "kernel": { "name": "rbf", "sigma": 1.0 } });
    // So wide that all pairs have the same weight.
    let wide = json!({ "temperature": 0.3, "sigma": 1e9 });
    let own_pair_only = json!({ "temperature": 0.3, "base_temperature": 0.3, "mix": 0.0 });
    for (name, variant, params) in [
        ("info-nce", "paper", &temperature),
        ("fair-info-nce", "paper", &temperature),
        ("dcl", "paper", &temperature),
        ("hcl", "paper", &temperature),
        ("dc", "paper", &temperature),
        ("dclw", "paper", &wide),
        ("supcon", "paper", &temperature),
        ("contex", "released", &own_pair_only),
        ("contex-p", "paper", &own_pair_only),
        ("fair-cclk", "paper", &kernel),
        ("fair-cclk", "released", &kernel),
        ("fair-cclk", "normalised", &kernel),
    ] {
        let (contribution, rest) = parts(name, variant, params.clone(), &batch);
        assert!(
            (contribution - positive).abs() < 1e-8,
            "{name} {variant}: {contribution}, expected {positive}"
        );
        let loss = outcome(name, variant, params.clone(), &batch).loss;
        assert!((contribution + rest - loss).abs() < 1e-11, "{name} {variant}");
    }
    let (twice, _) = parts("dc", "released", temperature, &batch);
    assert!((twice - 2.0 * positive).abs() < 1e-11);
}
