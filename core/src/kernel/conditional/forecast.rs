//! Forecasts of the solve of a batch, before its condition is known: whether it is dense, which takes the memory of several matrices
//! of the whole batch, and how many numbers `W` has on its device.
//!
//! They repeat the decisions of [`ConditionWeights::solve`](super::ConditionWeights::solve) as far as these do not need the
//! condition; each says which one.

use std::ops::RangeInclusive;

use super::system::SMALL;
use super::unit_diagonal::GramDiagonal;
use super::weights::DENSE_ROWS;
use crate::kernel::{Factor, Kernel};

/// A forecast: whether the system of all samples of a large batch is solved densely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenseSolve {
    /// Not at all, or only where the other solve would have no digits.
    Rare,
    /// The values of the condition decide.
    Possible,
    /// For every condition.
    Certain,
}

/// The kernel, batch and ridge of a solve; with the condition they decide how it is computed.
pub(crate) struct Forecast<'a> {
    kernel: &'a Kernel,
    samples: usize,
    ridge: f64,
    /// True if the diagonal of `K` is set to 1 and was not 1 before.
    changes_diagonal: bool,
}

impl<'a> Forecast<'a> {
    pub(crate) fn new(kernel: &'a Kernel, samples: usize, ridge: f64, diagonal: GramDiagonal) -> Self {
        Self { kernel, samples, ridge, changes_diagonal: diagonal.changes(kernel) }
    }

    /// Whether the solve is dense, for more than 1024 samples whose conditions have `columns` columns.
    pub(crate) fn dense_solve(&self, columns: usize) -> DenseSolve {
        let has_fewer_features = |kernel: &Kernel, columns: usize| {
            kernel.number_of_features(columns).is_some_and(|features| features < self.samples)
        };
        let has_fewer_by_value = |factor: &Factor| {
            has_fewer_features(&factor.kernel, factor.end.min(columns).saturating_sub(factor.start))
        };
        // `with_unit_diagonal`: only features are an alternative.
        if self.changes_diagonal {
            return match has_fewer_features(self.kernel, columns) {
                true => DenseSolve::Rare,
                false => DenseSolve::Certain,
            };
        }
        // Without a ridge, `by_features` and all ways of `by_samples` but the last pass.
        if self.ridge <= 0.0 {
            return DenseSolve::Certain;
        }
        // `by_samples`, which begins with exact matches.
        let has_smaller_system = *self.kernel == Kernel::ExactMatch
            // `features_to_solve`, whatever the scale of the values.
            || has_fewer_features(self.kernel, columns)
            // `FeaturesByValue::of`.
            || self.kernel.factor_with_features().is_some_and(has_fewer_by_value);
        if has_smaller_system { DenseSolve::Rare } else { DenseSolve::Possible }
    }

    /// The numbers that `W` has on its device, from the least to the most. Where a condition can give it another form than the dense
    /// one, the least is 0.
    pub(crate) fn stored_numbers(&self) -> RangeInclusive<u64> {
        let dense = (self.samples as u64).saturating_mul(self.samples as u64);
        // Features or groups, of which factors can be made. Those of each value are not asked for where the diagonal is changed.
        let has_factors = self.kernel.has_features()
            || *self.kernel == Kernel::ExactMatch
            || (!self.changes_diagonal && self.kernel.factor_with_features().is_some());
        // `dense_if_small`, and the threshold of `with_unit_diagonal`.
        let is_dense = self.samples <= DENSE_ROWS
            // Without a ridge, `by_features` and all ways of `by_samples` but the last pass.
            || (self.ridge <= 0.0 && !self.changes_diagonal)
            // Large batches can have few different rows, or a low rank.
            || (!has_factors && (self.samples <= SMALL || self.changes_diagonal));
        if is_dense { dense..=dense } else { 0..=dense }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::super::device::DeviceStorage;
    use super::super::testing::polynomial;
    use super::super::weights::{ConditionWeights, Storage};
    use super::*;
    use crate::numeric::matrix::Matrix;

    const SAMPLES: usize = SMALL + 26;
    /// No value of a kernel below is 1 more than it, with which a system is singular.
    const RIDGE: f64 = 0.3003;

    /// The product of a kernel on all columns but the last, and an exact match on that.
    fn by_value(kernel: Kernel, columns: usize) -> Kernel {
        let exact = Factor { start: columns - 1, end: columns, kernel: Kernel::ExactMatch };
        Kernel::Product { factors: vec![Factor { start: 0, end: columns - 1, kernel }, exact] }
    }

    #[test]
    fn the_number_of_features_decides_whether_a_dense_solve_is_expected() {
        use DenseSolve::{Certain, Possible, Rare};
        use GramDiagonal::{OfKernel, One};
        let linear = || Kernel::Linear { scale: 1.0 };
        let rbf_and_linear = || {
            let rbf = Factor { start: 0, end: 2, kernel: Kernel::rbf(1.0) };
            Kernel::Product { factors: vec![rbf, Factor { start: 2, end: 3, kernel: linear() }] }
        };
        for (kernel, columns, as_it_is, with_unit_diagonal) in [
            (Kernel::rbf(1.0), 3, Possible, Possible),
            (Kernel::ExactMatch, 3, Rare, Rare),
            (linear(), SAMPLES - 1, Rare, Rare),
            (linear(), SAMPLES, Possible, Certain),
            (Kernel::Cosine, SAMPLES, Possible, Certain),
            (polynomial(0.0, 2), 31, Rare, Rare),
            (polynomial(0.0, 2), 32, Possible, Certain),
            (polynomial(0.0, 3), 13, Rare, Rare),
            (polynomial(1.0, 3), 13, Possible, Certain),
            (polynomial(0.0, 3), 20, Possible, Certain),
            (by_value(linear(), 4), 4, Rare, Certain),
            (by_value(polynomial(0.0, 3), 14), 14, Rare, Certain),
            (by_value(polynomial(0.0, 3), 15), 15, Possible, Certain),
            (by_value(Kernel::rbf(1.0), 4), 4, Possible, Possible),
            (rbf_and_linear(), 3, Possible, Certain),
        ] {
            let of = |ridge, diagonal| Forecast::new(&kernel, SAMPLES, ridge, diagonal).dense_solve(columns);
            let expected = (as_it_is, with_unit_diagonal, Certain);
            let given = (of(RIDGE, OfKernel), of(RIDGE, One), of(0.0, OfKernel));
            assert_eq!(given, expected, "{kernel:?}, {columns} columns");
        }
    }

    #[test]
    fn what_is_certain_is_solved_densely_and_what_is_rare_is_not() {
        // Without order; the last column has seven values.
        let rows = |columns: usize| {
            Matrix::from_fn(SAMPLES, columns, |i, j| match j + 1 == columns {
                true => (i % 7) as f64 / 7.0,
                false => ((i * i * (31 + 17 * j * j) + (7 + j) * i) % 1009) as f64 / 504.0 - 1.0,
            })
        };
        let mut certain = 0;
        for (kernel, columns) in [
            (Kernel::Linear { scale: 1.0 }, 4),
            (polynomial(0.0, 3), 15),
            (by_value(Kernel::Cosine, 4), 4),
            (Kernel::ExactMatch, 4),
        ] {
            for diagonal in [GramDiagonal::OfKernel, GramDiagonal::One] {
                let forecast = Forecast::new(&kernel, SAMPLES, RIDGE, diagonal).dense_solve(columns);
                if forecast == DenseSolve::Possible {
                    continue;
                }
                let solved = ConditionWeights::solve(&kernel, &rows(columns), RIDGE, diagonal);
                let is_dense = matches!(solved.unwrap().storage, Storage::Dense(_));
                assert_eq!(is_dense, forecast == DenseSolve::Certain, "{kernel:?}, {diagonal:?}");
                certain += usize::from(is_dense);
            }
        }
        assert_eq!(certain, 2);
    }

    #[test]
    fn weights_that_are_dense_for_every_condition_are_and_others_have_fewer_numbers() {
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 1, "kernel": {"name": "exact-match"}},
            {"start": 1, "end": 2, "kernel": {"name": "linear"}}]}"#;
        let kernels = [
            Kernel::rbf(1.0),
            Kernel::MedianLaplacian,
            Kernel::LaplacianL1 { gamma: 1.0 },
            Kernel::Linear { scale: 1.0 },
            Kernel::Cosine,
            polynomial(0.0, 2),
            polynomial(1.0, 2),
            Kernel::ExactMatch,
            serde_json::from_str(product).unwrap(),
        ];
        // Of 40 different rows of two columns: every kernel that can have factors has them.
        let rows =
            |samples| Matrix::from_fn(samples, 2, |i, j| ((i % 40 * (3 + 4 * j) + j) % 41) as f64 / 20.0);
        let mut dense = 0;
        for (samples, kernel) in [DENSE_ROWS, DENSE_ROWS + 1, SMALL + 1]
            .into_iter()
            .flat_map(|samples| kernels.iter().map(move |kernel| (samples, kernel)))
        {
            for diagonal in [GramDiagonal::OfKernel, GramDiagonal::One] {
                let solved = ConditionWeights::solve(kernel, &rows(samples), RIDGE, diagonal);
                let storage = solved.unwrap().on_device(&Device::flex(), DType::F32).storage;
                let is_dense = matches!(storage, DeviceStorage::Dense(_));
                let numbers = Forecast::new(kernel, samples, RIDGE, diagonal).stored_numbers();
                let least = if is_dense { samples as u64 * samples as u64 } else { 0 };
                assert_eq!(*numbers.start(), least, "{kernel:?}, {samples} samples, {diagonal:?}");
                dense += usize::from(is_dense);
            }
        }
        assert!(dense > 2 * kernels.len(), "{dense}");
    }
}
