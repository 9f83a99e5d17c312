#![allow(clippy::unwrap_used)]

use burn::tensor::DType;

use super::super::batch::Batch;
use super::super::finite_difference::{random, read, value};
use super::super::{Aux, Evaluation, Objective, build, specs};
use super::{CclkSettings, FairCclk, HardNegCclk, TrainableFairCclk, WeakSupCclk};
use crate::kernel::Kernel;
use crate::kernel::conditional::WeightScheme;
use crate::loss::spec::Described as _;
use crate::numeric::matrix::Matrix;

/// An objective of this family with an RBF kernel, and an approximation if a rank is given.
fn objective(name: &str, variant: &str, rank: Option<usize>) -> Box<dyn Objective> {
    let mut parameters = serde_json::json!({ "lambda": 0.1, "kernel": { "name": "rbf", "sigma": 1.5 } });
    if let Some(rank) = rank {
        parameters["approximation"] = serde_json::json!({ "rank": rank, "tolerance": 0 });
    }
    build(name, Some(variant), parameters).unwrap()
}

/// Conditions of two samples and of one at a distance from both.
fn of_two_and_one(far: f64) -> Matrix {
    Matrix::from_fn(3, 2, |i, j| [[0.0, 3.0], [0.0, -3.1], [far, 0.0]][i][j])
}

/// The loss of three samples, the last of which is far from the others, and its gradient with respect to `view_a`.
fn of_a_far_sample(name: &str, far: f64, temperature: f64, dtype: DType) -> (f64, Matrix) {
    let kernel = serde_json::json!({ "name": "rbf", "sigma": 1 });
    let parameters = serde_json::json!({ "temperature": temperature, "kernel": kernel });
    let view = |seed| random(3, 4, seed).cast(dtype);
    let batch = Batch::views(view(1), view(2));
    let batch = match name {
        "hardneg-cclk" => {
            batch.with_condition("z_a", of_two_and_one(far)).with_condition("z_b", of_two_and_one(far + 1.0))
        }
        _ => batch.with_condition("z", of_two_and_one(far)),
    };
    let evaluation = build(name, None, parameters).unwrap().evaluate(&batch).unwrap();
    let loss = read(evaluation.loss.unsqueeze())[(0, 0)];
    (loss, read(evaluation.gradients["view_a"].clone()))
}

/// The lab shows the weights that a form states.
#[test]
fn a_form_states_the_weights_of_its_settings() {
    for spec in [WeakSupCclk::SPEC, FairCclk::SPEC, HardNegCclk::SPEC] {
        for form in spec.variants {
            let parameters = serde_json::json!({ "variant": form.name });
            let settings: CclkSettings = serde_json::from_value(parameters).unwrap();
            assert_eq!(form.weights, Some(settings.variant), "{} {}", spec.name, form.name);
        }
    }
    for spec in specs() {
        for form in spec.variants {
            let normalises =
                build(spec.name, Some(form.name), serde_json::Value::Null).unwrap().normalises_weights();
            let states = form.weights == Some(WeightScheme::Normalised);
            assert!(states || !normalises, "{} {} states other weights", spec.name, form.name);
            let is_missing = form.weights.is_none() && spec.parameter("kernel").is_some();
            assert!(!is_missing, "{} {} does not state its weights", spec.name, form.name);
        }
    }
}

#[test]
fn shares_of_weights_of_any_size_are_those_of_double_precision() {
    for (far, temperature) in [(7.0, 0.5), (9.5, 0.04), (12.0, 0.5), (25.0, 0.1)] {
        for name in ["fair-cclk", "hardneg-cclk"] {
            let (single, of_single) = of_a_far_sample(name, far, temperature, DType::F32);
            let (double, of_double) = of_a_far_sample(name, far, temperature, DType::F64);
            let apart = (single - double).abs();
            assert!(apart < 3e-5 * double.abs().max(1.0), "{name} {far}: {single} {double}");
            let largest = of_double.data().iter().fold(0.0_f64, |most, g| most.max(g.abs()));
            let pairs = of_single.data().iter().zip(of_double.data());
            let off = pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(off < 1e-4 * largest, "{name} {far}: {off} of {largest}");
        }
        let trainable = TrainableFairCclk { temperature, ..TrainableFairCclk::default() };
        let batch = Batch::views(random(3, 4, 1), random(3, 4, 2))
            .with_condition("z", of_two_and_one(far))
            .with_condition("log_sigma", Matrix::column(&[0.0]));
        let (fair, _) = of_a_far_sample("fair-cclk", far, temperature, DType::F64);
        assert!((fair - value(&trainable, &batch)).abs() < 1e-9 * fair.abs().max(1.0), "{far}");
    }
}

/// Two samples, each alone with its condition, whose views have a cosine of `own` and are orthogonal to those of the other sample.
fn of_two_alone(
    name: &str,
    variant: &str,
    kernel: &str,
    z: [f64; 2],
    [own, temperature]: [f64; 2],
) -> Evaluation {
    let kernel: serde_json::Value = serde_json::from_str(kernel).unwrap();
    let lambda = if variant == "paper" { 1.0 } else { 0.01 };
    let parameters = serde_json::json!({ "temperature": temperature, "lambda": lambda, "kernel": kernel });
    let view = |scale: f64| {
        let unit = [[scale, 0.0], [0.0, scale]];
        crate::loss::finite_difference::place(&Matrix::from_fn(2, 2, |i, j| unit[i][j]))
    };
    let batch = Batch::views(view(1.0), view(own)).with_condition("z", Matrix::column(&z));
    build(name, Some(variant), parameters).unwrap().evaluate(&batch).unwrap()
}

fn assert_near(evaluation: &Evaluation, expected: f64) {
    let loss = read(evaluation.loss.clone().unsqueeze())[(0, 0)];
    assert!((loss - expected).abs() < 1e-9 * expected.abs(), "{loss}, expected {expected}");
}

#[test]
fn released_sums_outside_of_their_bounds_are_clamped() {
    let rbf = r#"{ "name": "rbf", "temp_z": 1.0 }"#;
    let (low, high) = (1e-7_f64.ln(), 1e20_f64.ln());
    for name in ["fair-cclk", "hardneg-cclk"] {
        let of = |own, temperature| of_two_alone(name, "released", rbf, [0.0, 100.0], [own, temperature]);
        let opposite = of(-1.0, 0.05);
        assert_near(&opposite, low + 20.0);
        let pulls = read(opposite.gradients["view_a"].clone());
        assert!(pulls.data().iter().all(|g| g.is_finite()), "{pulls:?}");
        assert_near(&of(1.0, 0.02), high - 50.0);
    }
    assert_near(&of_two_alone("weaksup-cclk", "released", rbf, [0.0, 100.0], [1.0, 0.02]), high - low);
}

#[test]
fn a_bandwidth_of_zero_is_refused_before_and_in_a_step() {
    let objective = FairCclk(CclkSettings { kernel: Kernel::rbf(0.0), ..CclkSettings::default() });
    let batch = Batch::views(random(3, 4, 1), random(3, 4, 2)).with_condition("z", of_two_and_one(1.0));
    for refused in [objective.check(), objective.evaluate(&batch).map(drop)] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("`kernel.temp_z` is 0"), "{error}");
    }
}

/// Released code clips the weights below the threshold. The table of weights kept a weight that equals it, and the loss left it out.
#[test]
fn a_released_weight_of_exactly_the_threshold_counts() {
    let z = Matrix::column(&[0.0, 0.5]);
    let kernel = serde_json::json!({ "name": "rbf", "sigma": 1 });
    let parsed: Kernel = serde_json::from_value(kernel.clone()).unwrap();
    let weights = |threshold| WeightScheme::Released.weights(&parsed, &z, 0.1, threshold).unwrap();
    let all = weights(0.0);
    // The two may differ by rounding.
    let pair = [all[(0, 1)], all[(1, 0)]];
    let (lowest, above) = (pair[0].min(pair[1]), 1.001 * pair[0]);
    assert!(lowest > 0.1, "{lowest}");
    assert_eq!(weights(lowest), all);
    assert_eq!(weights(above), Matrix::zeros(2, 2));

    for name in ["fair-cclk", "hardneg-cclk", "weaksup-cclk"] {
        for dtype in [DType::F64, DType::F32] {
            let view = |seed| random(2, 4, seed).cast(dtype);
            let batch = Batch::views(view(1), view(2)).with_condition("z", z.clone());
            let loss = |threshold: f64| {
                let parameters =
                    serde_json::json!({ "lambda": 0.1, "kernel": kernel, "clip_threshold": threshold });
                value(build(name, Some("released"), parameters).unwrap().as_ref(), &batch)
            };
            assert_eq!(loss(lowest), loss(0.0), "{name} {dtype:?}");
            assert_ne!(loss(above), loss(0.0), "{name} {dtype:?}");
        }
    }
}

/// The own term of a sum has the own weight, which polynomial kernels make small.
#[test]
fn a_small_sum_of_printed_weights_is_taken_as_it_is() {
    let cubic = of_two_alone("weaksup-cclk", "paper", r#"{ "name": "polynomial" }"#, [0.01, 1.0], [1.0, 0.5]);
    // K has rank one, with entries of 1e-12, 1e-6 and 1; W is K / (1 + trace of K).
    let trace = 1.0 + 1e-12;
    let [first, both, second] = [1e-12, 1e-6, 1.0].map(|k: f64| k / (1.0 + trace));
    let e = 2.0_f64.exp();
    let of = |positives: f64| ((positives + 1.0) / positives).ln();
    assert_near(&cubic, (of(first * e + both) + of(second * e + both)) / 2.0);
}

#[test]
fn a_printed_sum_far_below_its_negatives_is_taken_as_it_is() {
    let apart =
        of_two_alone("weaksup-cclk", "paper", r#"{ "name": "exact-match" }"#, [0.0, 1.0], [-1.0, 0.01]);
    // W is I / 2, so that the positive sum is exp(-100) / 2 and the negative one 1.
    assert_near(&apart, 100.0 + 2.0_f64.ln());
}

#[test]
fn an_approximation_of_enough_rank_changes_nothing_and_states_its_error() {
    let batch = Batch::views(random(40, 4, 1), random(40, 4, 2)).with_condition("z", read(random(40, 2, 3)));
    for name in ["fair-cclk", "weaksup-cclk"] {
        for variant in ["released", "normalised"] {
            let exact = value(objective(name, variant, None).as_ref(), &batch);
            let off = |rank| {
                let objective = objective(name, variant, Some(rank));
                let evaluation = objective.evaluate(&batch).unwrap();
                let Aux::Number(error) = evaluation.aux["approximation_error"] else { unreachable!() };
                ((value(objective.as_ref(), &batch) - exact).abs(), error)
            };
            let (difference, error) = off(40);
            assert!(difference < 1e-5 && error < 1e-9, "{name} {variant}: {difference}, {error}");
            assert!(off(5).1 > 1e-3);
        }
    }
}
