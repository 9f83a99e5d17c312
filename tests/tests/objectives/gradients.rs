//! Analytic gradients against central differences in `f64`.

use burn::tensor::DType;
use simile_core::loss;
use simile_core::loss::Objective;
use simile_core::loss::batch::Batch;
use simile_core::numeric::matrix::Matrix;

use crate::batches::{Draws, Inputs, batches, evaluate, place, settings};

/// Relative error of the gradient along a direction of random signs, by differences of fourth order.
pub(crate) fn error_along(
    value: &dyn Fn(&Matrix) -> f64,
    at: &Matrix,
    gradient: &Matrix,
    draws: &mut Draws,
) -> f64 {
    const STEP: f64 = 1e-4;
    let direction = Matrix::from_fn(at.rows(), at.columns(), |_, _| draws.next().signum());
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
        for _ in 0..2 {
            let error = error_along(&value, &inputs.tensors[&name], &gradient, &mut draws);
            if error.is_nan() || error > worst.0 {
                worst = (if error.is_nan() { f64::INFINITY } else { error }, name.clone());
            }
        }
    }
    Ok(worst)
}

#[test]
fn every_gradient_matches_differences() {
    let mut failures = Vec::new();
    let mut checked = std::collections::BTreeSet::new();
    // Those with constant weights have a test in `detached`, or beside their code.
    for (seed, setting) in settings().into_iter().enumerate().filter(|(_, setting)| !setting.is_detached()) {
        for (kind, labels, bias) in batches() {
            let raw = Inputs::random(setting.spec.name, &labels, &bias, 4, seed as u64);
            let unit = (kind == "mixed").then(|| raw.clone().with_unit_rows());
            for inputs in [Some(raw), unit].into_iter().flatten() {
                match worst(setting.objective.as_ref(), &inputs, seed as u64) {
                    // A batch on which it is not defined.
                    Err(_) => continue,
                    Ok((error, input)) if error > 1e-6 => {
                        failures.push(format!(
                            "{setting}, {kind}, unit rows {}: {input} {error:.1e}",
                            inputs.unit_rows
                        ));
                    }
                    Ok(_) => drop(checked.insert(setting.spec.name)),
                }
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
