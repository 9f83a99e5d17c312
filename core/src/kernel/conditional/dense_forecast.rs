//! The forecast of a dense solve, before the condition of a batch is known: a dense solve takes the memory of several matrices of
//! the whole batch.

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

impl DenseSolve {
    /// The forecast for `samples` samples, more than 1024, whose conditions have `columns` columns. `unit_diagonal` says that the
    /// diagonal of `K` is set to 1.
    pub(crate) fn of(
        kernel: &Kernel,
        (samples, columns): (usize, usize),
        ridge: f64,
        unit_diagonal: bool,
    ) -> Self {
        let has_fewer_features = |kernel: &Kernel, columns: usize| {
            kernel.number_of_features(columns).is_some_and(|features| features < samples)
        };
        let has_fewer_by_value = |factor: &Factor| {
            has_fewer_features(&factor.kernel, factor.end.min(columns).saturating_sub(factor.start))
        };
        if unit_diagonal && !kernel.has_unit_diagonal() {
            // Then only features are an alternative.
            return if has_fewer_features(kernel, columns) { Self::Rare } else { Self::Certain };
        }
        if ridge <= 0.0 {
            return Self::Certain;
        }
        let has_smaller_system = *kernel == Kernel::ExactMatch
            || has_fewer_features(kernel, columns)
            || kernel.factor_with_features().is_some_and(has_fewer_by_value);
        if has_smaller_system { Self::Rare } else { Self::Possible }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{ConditionalEmbedding, Form, SMALL};
    use super::*;
    use crate::numeric::matrix::Matrix;

    const SAMPLES: usize = SMALL + 26;
    /// No value of a kernel below is 1 more than it, with which a system is singular.
    const RIDGE: f64 = 0.3003;

    fn polynomial(offset: f64, degree: u32) -> Kernel {
        Kernel::Polynomial { gamma: 1.0, offset, degree, scale: 1.0 }
    }

    /// The product of a kernel on all columns but the last, and an exact match on that.
    fn by_value(kernel: Kernel, columns: usize) -> Kernel {
        let exact = Factor { start: columns - 1, end: columns, kernel: Kernel::ExactMatch };
        Kernel::Product { factors: vec![Factor { start: 0, end: columns - 1, kernel }, exact] }
    }

    #[test]
    fn the_number_of_features_decides_whether_a_dense_solve_is_expected() {
        use DenseSolve::{Certain, Possible, Rare};
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
            let of = |ridge, unit| DenseSolve::of(&kernel, (SAMPLES, columns), ridge, unit);
            let expected = (as_it_is, with_unit_diagonal, Certain);
            let given = (of(RIDGE, false), of(RIDGE, true), of(0.0, false));
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
            for unit in [false, true] {
                let forecast = DenseSolve::of(&kernel, (SAMPLES, columns), RIDGE, unit);
                if forecast == DenseSolve::Possible {
                    continue;
                }
                let solved = match unit {
                    true => ConditionalEmbedding::with_unit_diagonal(&kernel, &rows(columns), RIDGE),
                    false => ConditionalEmbedding::new(&kernel, &rows(columns), RIDGE),
                };
                let is_dense = matches!(solved.unwrap().form, Form::Dense(_));
                assert_eq!(is_dense, forecast == DenseSolve::Certain, "{kernel:?}, unit diagonal {unit}");
                certain += usize::from(is_dense);
            }
        }
        assert_eq!(certain, 2);
    }
}
