//! Analytic gradients against central differences in `f64`.

use burn::tensor::DType;
use simile_core::loss;
use simile_core::loss::Objective;
use simile_core::loss::batch::Batch;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{Draws, Inputs, batches, evaluate, place, settings};

/// Relative error of the gradient along a random direction, by differences of fourth order. The entries of the direction have either
/// sign and sizes from 0.75 to 1.25: if all had one size, two wrong entries with errors of one size would cancel in half of all
/// directions.
pub(crate) fn error_along(
    value: &dyn Fn(&Matrix) -> f64,
    at: &Matrix,
    gradient: &Matrix,
    draws: &mut Draws,
) -> f64 {
    const STEP: f64 = 1e-4;
    let direction = Matrix::from_fn(at.rows(), at.columns(), |_, _| {
        let draw = draws.next();
        0.75 * draw.signum() + 0.5 * draw
    });
    let moved = |step: f64| {
        value(&Matrix::from_fn(at.rows(), at.columns(), |i, j| at[(i, j)] + step * direction[(i, j)]))
    };
    let slope = |step: f64| (moved(step) - moved(-step)) / (2.0 * step);
    let difference = (4.0 * slope(STEP / 2.0) - slope(STEP)) / 3.0;
    let analytic: f64 = gradient.data().iter().zip(direction.data()).map(|(g, d)| g * d).sum();
    let size = gradient.data().iter().map(|g| g * g).sum::<f64>().sqrt().max(1e-3);
    (analytic - difference).abs() / size
}

/// The largest error of any gradient of a batch, with the input it belongs to.
fn worst(objective: &dyn Objective, inputs: &Inputs, seed: u64) -> Result<(f64, String), String> {
    let batch: Batch = inputs.batch(DType::F64);
    let mut draws = Draws::new(seed);
    let mut worst = (0.0, String::new());
    for (name, gradient) in evaluate(objective, &batch)?.gradients {
        if objective.spec().input(&name).is_some_and(|input| input.constant) {
            assert!(gradient.data().iter().all(|g| *g == 0.0));
            continue;
        }
        let value = |moved: &Matrix| {
            let batch = batch.clone().with_tensor(&name, place(moved, DType::F64));
            evaluate(objective, &batch).unwrap().loss
        };
        let error = error_along(&value, &inputs.tensors[&name], &gradient, &mut draws);
        if error.is_nan() || error > worst.0 {
            worst = (if error.is_nan() { f64::INFINITY } else { error }, name);
        }
    }
    Ok(worst)
}

#[test]
fn every_gradient_matches_differences() {
    let mut failures = Vec::new();
    let mut checked = std::collections::BTreeSet::new();
    // Those with constant weights have a test in `detached`, or beside their code.
    for setting in settings().into_iter().filter(|setting| !setting.is_detached()) {
        // Inputs of its own, which do not change when another objective is added.
        let seed = setting
            .to_string()
            .bytes()
            .fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        for (kind, labels, bias) in batches() {
            for has_unit_rows in [false, true].into_iter().filter(|unit| !unit || kind == "mixed") {
                let error = |seed: u64| {
                    let inputs = Inputs::random(setting.spec.name, &labels, &bias, 4, seed);
                    let inputs = if has_unit_rows { inputs.with_unit_rows() } else { inputs };
                    worst(setting.objective.as_ref(), &inputs, seed)
                };
                // A step of a difference may cross a kink, of a maximum or a bound, by chance: a wrong gradient is wrong twice.
                let (error, input) = match error(seed) {
                    Ok((first, _)) if first > 1e-6 => error(seed ^ 1).unwrap(),
                    Ok(first) => first,
                    // A batch on which it is not defined.
                    Err(_) => continue,
                };
                if error > 1e-6 {
                    failures
                        .push(format!("{setting}, {kind}, unit rows {has_unit_rows}: {input} {error:.1e}"));
                }
                checked.insert(setting.spec.name);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let missed: Vec<&str> = loss::specs()
        .filter(|spec| !spec.detached)
        .map(|spec| spec.name)
        .filter(|name| !checked.contains(name))
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}
