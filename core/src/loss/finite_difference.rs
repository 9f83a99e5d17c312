//! Comparison of gradients with central differences in `f64`, for the tests of the objectives.
#![allow(clippy::unwrap_used)]

use burn::tensor::{DType, Device, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::objective::Objective;
use crate::loss::batch::Batch;
use crate::numeric::matrix::Matrix;

/// Values uniform on -2 to 2.
pub(crate) fn random(rows: usize, columns: usize, seed: u64) -> Tensor<2> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    place(&Matrix::from_fn(rows, columns, |_, _| rng.random_range(-2.0..2.0)))
}

/// A host matrix on the device of the tests, in `f64`.
pub(crate) fn place(matrix: &Matrix) -> Tensor<2> {
    matrix.to_tensor(&Device::flex(), DType::F64)
}

/// A device matrix on the host.
pub(crate) fn read(tensor: Tensor<2>) -> Matrix {
    Matrix::from_data(&tensor.into_data()).unwrap()
}

/// The loss of a batch.
pub(crate) fn value(objective: &dyn Objective, batch: &Batch) -> f64 {
    read(objective.evaluate(batch).unwrap().loss.unsqueeze())[(0, 0)]
}

/// The largest error of any gradient, relative to the largest entry of the gradient of that input (at least 1e-3).
pub(crate) fn gradient_error(objective: &dyn Objective, batch: &Batch) -> f64 {
    const STEP: f64 = 1e-5;
    let mut worst = 0.0_f64;
    for (name, gradient) in objective.evaluate(batch).unwrap().gradients {
        let gradient = read(gradient);
        let input = read(batch.tensor(objective.name(), &name).unwrap());
        let largest = gradient.data().iter().fold(1e-3_f64, |m, v| m.max(v.abs()));
        for at in 0..input.data().len() {
            let moved = |step: f64| {
                let mut input = input.clone();
                input.data_mut()[at] += step;
                value(objective, &batch.clone().with_tensor(&name, place(&input)))
            };
            let difference = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            let error = (gradient.data()[at] - difference).abs() / largest;
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    worst
}
