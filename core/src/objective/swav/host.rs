//! Sinkhorn's algorithm in `f32` on the host: the exponentials are formed once, and each iteration only finds what rows
//! and columns are multiplied by.

use burn::tensor::Tensor;
use pulp::Arch;

use super::Prediction;
use crate::host::Numbers;
use crate::softmax::normalise;
use simile_kernels::cpu::exp::exp;
use simile_kernels::cpu::gemm::dot;
use simile_kernels::cpu::parallel;

use crate::host;

/// The largest difference of two logits whose exponentials can be added in `f32`.
const SPAN: f32 = 60.0;
/// Rows in one round of a loop.
const PART: usize = 32;

/// The assignments; `None` where the scores are elsewhere, or too far apart for `f32`.
pub(super) fn sinkhorn(scores: &Tensor<2>, epsilon: f64, iterations: usize) -> Option<Tensor<2>> {
    let (device, [rows, columns]) = (scores.device(), scores.dims());
    let mut terms = host::copy(scores).filter(|terms| !terms.is_empty())?;
    let largest = terms.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let smallest = terms.iter().copied().fold(f32::INFINITY, f32::min);
    let scale = epsilon.recip() as f32;
    let is_safe = (largest - smallest) * scale <= SPAN;
    if !is_safe {
        return None;
    }
    let size = PART * columns;
    parallel::map(terms.chunks_mut(size), |part| {
        Arch::new().dispatch(|| part.iter_mut().for_each(|x| *x = exp((*x - largest) * scale)));
    });
    let mut by_row = vec![1.0_f32; rows];
    let mut by_column = vec![1.0_f32; columns];
    for _ in 0..iterations {
        // The column's factor needs the sums of all rows; a row's sum then only needs the row.
        let sums = parallel::map(terms.chunks(size).zip(by_row.chunks(PART)), |(part, by_row)| {
            column_sums(part, by_row, columns)
        });
        by_column.fill(0.0);
        for part in sums {
            by_column.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        by_column.iter_mut().for_each(|sum| *sum = sum.recip());
        let sums = parallel::map(terms.chunks(size), |part| {
            part.chunks_exact(columns).map(|row| dot(row, &by_column).recip()).collect::<Vec<f32>>()
        });
        by_row = sums.concat();
    }
    parallel::map(terms.chunks_mut(size).zip(by_row.chunks(PART)), |(part, by_row)| {
        for (row, of_row) in part.chunks_exact_mut(columns).zip(by_row) {
            Arch::new().dispatch(|| row.iter_mut().zip(&by_column).for_each(|(x, c)| *x = *x * of_row * c));
        }
    });
    Some(terms.into_tensor(&device))
}

/// [`Prediction`] from scores that lie here and the sum of `count` assignments.
pub(super) fn predict(scores: Tensor<2>, target: &[f32], temperature: f64, count: f64) -> Prediction {
    let (device, [_, columns]) = (scores.device(), scores.dims());
    let mut pull = Numbers::of(scores);
    let (scale, count) = (temperature.recip() as f32, count as f32);
    let size = (PART * columns).max(1);
    let losses = parallel::map(pull.chunks_mut(size).zip(target.chunks(size)), |(pull, target)| {
        let rows = pull.chunks_exact_mut(columns).zip(target.chunks_exact(columns));
        let losses = rows.map(|(row, target)| {
            Arch::new().dispatch(|| row.iter_mut().for_each(|x| *x *= scale));
            let agreed = dot(row, target);
            let log_sum = normalise(row);
            Arch::new().dispatch(|| row.iter_mut().zip(target).for_each(|(p, q)| *p = count * *p - q));
            f64::from(count * log_sum - agreed)
        });
        losses.sum::<f64>()
    });
    let loss = host::tensor(vec![losses.iter().sum::<f64>() as f32], [1], &device);
    Prediction { loss, pull: pull.into_tensor(&device) }
}

/// The sums of the columns of some rows, each row times its factor.
fn column_sums(rows: &[f32], factors: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; columns];
    for (row, factor) in rows.chunks_exact(columns).zip(factors) {
        Arch::new().dispatch(|| sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x));
    }
    sums
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, Distribution};

    use super::super::sinkhorn as assignments;
    use super::*;

    #[test]
    fn factors_of_rows_and_columns_give_what_repeated_division_gives() {
        let scores = Tensor::<2>::random([70, 50], Distribution::Uniform(-1.0, 1.0), &Device::flex());
        for (epsilon, iterations) in [(0.05, 1), (0.05, 3), (0.5, 5)] {
            let found = assignments(scores.clone(), epsilon, iterations).cast(DType::F64);
            let expected = assignments(scores.clone().cast(DType::F64), epsilon, iterations);
            let difference = (found - expected).abs().max().into_scalar::<f64>();
            assert!(difference < 1e-5, "{epsilon} {iterations}: {difference}");
        }
    }

    #[test]
    fn one_pass_predicts_as_the_backend_does() {
        let uniform = Distribution::Uniform(-1.0, 1.0);
        let [scores, target] = [0, 1].map(|_| Tensor::<2>::random([70, 50], uniform, &Device::flex()).abs());
        let found = Prediction::new(scores.clone(), &target, 0.1, 2.0);
        let expected = Prediction::new(scores.cast(DType::F64), &target.cast(DType::F64), 0.1, 2.0);
        let difference = (found.pull.cast(DType::F64) - expected.pull).abs().max().into_scalar::<f64>();
        assert!(difference < 1e-5, "{difference}");
        let difference = (found.loss.cast(DType::F64) - expected.loss).abs().into_scalar::<f64>();
        assert!(difference < 1e-2, "{difference}");
    }
}
