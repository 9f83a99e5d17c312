//! Values of a kernel between one row and many, as loops over columns.

use std::ops::Range;

use simile_kernels::cpu::exp::exp_of_slice;

use super::{Kernel, KernelFunction};
use crate::numeric::matrix::Matrix;

/// A kernel with the rows that it compares.
pub(crate) struct KernelValues {
    rows: Matrix,
    /// The columns of the rows.
    columns: Vec<Vec<f64>>,
    evaluator: Evaluator,
}

/// How the values of a kernel are computed.
enum Evaluator {
    /// `exp(-|z-z'|^2 / scale)`.
    Rbf(f64),
    /// `exp(-|z-z'|_2 / scale)`.
    Laplacian(f64),
    /// `exp(-gamma |z-z'|_1)`.
    LaplacianL1(f64),
    ExactMatch,
    /// The product of kernels on ranges of columns.
    Product(Vec<(Range<usize>, Evaluator)>),
    /// Any other, pair by pair.
    Other(KernelFunction),
}

impl Evaluator {
    /// That of a kernel for rows with `columns` columns. A bandwidth that is given as a rule is computed from `z`.
    fn of(kernel: &Kernel, z: &Matrix, columns: usize) -> Self {
        match kernel.with_bandwidth_of(z) {
            Kernel::Rbf { scale } => Self::Rbf(scale),
            Kernel::Laplacian { scale } => Self::Laplacian(scale),
            Kernel::LaplacianL1 { gamma } => Self::LaplacianL1(gamma),
            Kernel::ExactMatch => Self::ExactMatch,
            Kernel::Product { factors } => {
                let range = |start: usize, end: usize| start.min(end.min(columns))..end.min(columns);
                let of = |factor: &super::Factor| {
                    let range = range(factor.start, factor.end);
                    let evaluator = Self::of(&factor.kernel, &factor.columns_of(z), range.len());
                    (range, evaluator)
                };
                Self::Product(factors.iter().map(of).collect())
            }
            other => Self::Other(other.function(z)),
        }
    }
}

impl KernelValues {
    /// The kernel among `rows`. A bandwidth given as a rule is that of `z`.
    pub(crate) fn new(kernel: &Kernel, z: &Matrix, rows: Matrix) -> Self {
        let evaluator = Evaluator::of(kernel, z, rows.columns());
        let columns = (0..rows.columns()).map(|j| rows.iter_rows().map(|row| row[j]).collect()).collect();
        Self { rows, columns, evaluator }
    }

    /// `k(row, z_j)` for `j` of a range, one value each in `values`.
    pub(crate) fn with(&self, row: &[f64], range: Range<usize>, values: &mut [f64]) {
        self.evaluate_columns(&self.evaluator, 0..self.columns.len(), row, range, values);
    }

    /// A kernel on some of the columns.
    fn evaluate_columns(
        &self,
        evaluator: &Evaluator,
        columns: Range<usize>,
        row: &[f64],
        range: Range<usize>,
        values: &mut [f64],
    ) {
        match evaluator {
            Evaluator::Rbf(scale) => {
                self.add_up(columns, row, range, values, |d| d * d);
                values.iter_mut().for_each(|value| *value = -*value / scale);
            }
            Evaluator::Laplacian(scale) => {
                self.add_up(columns, row, range, values, |d| d * d);
                values.iter_mut().for_each(|value| *value = -value.sqrt() / scale);
            }
            Evaluator::LaplacianL1(gamma) => {
                self.add_up(columns, row, range, values, f64::abs);
                values.iter_mut().for_each(|value| *value *= -gamma);
            }
            Evaluator::ExactMatch => return self.match_exactly(columns, row, range, values),
            Evaluator::Product(factors) => return self.multiply(factors, columns.start, row, range, values),
            Evaluator::Other(function) => {
                let part = |row| &self.rows.row(row)[columns.clone()];
                values.iter_mut().zip(range).for_each(|(value, j)| {
                    *value = function(&row[columns.clone()], part(j));
                });
                return;
            }
        }
        exp_of_slice(values);
    }

    /// The sum over columns of a function of the differences.
    #[inline]
    fn add_up(
        &self,
        columns: Range<usize>,
        row: &[f64],
        range: Range<usize>,
        sums: &mut [f64],
        distance: impl Fn(f64) -> f64,
    ) {
        sums.fill(0.0);
        for (value, column) in row[columns.clone()].iter().zip(&self.columns[columns]) {
            let others = &column[range.clone()];
            sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += distance(value - other));
        }
    }

    /// 1 for rows with equal values in all of the columns, else 0.
    fn match_exactly(&self, columns: Range<usize>, row: &[f64], range: Range<usize>, values: &mut [f64]) {
        values.fill(1.0);
        for (value, column) in row[columns.clone()].iter().zip(&self.columns[columns]) {
            let others = &column[range.clone()];
            let alike = |(result, other): (&mut f64, &f64)| {
                *result = if value == other { *result } else { 0.0 };
            };
            values.iter_mut().zip(others).for_each(alike);
        }
    }

    /// The product of kernels, whose columns are counted from `start`.
    fn multiply(
        &self,
        factors: &[(Range<usize>, Evaluator)],
        start: usize,
        row: &[f64],
        range: Range<usize>,
        values: &mut [f64],
    ) {
        values.fill(1.0);
        let mut factor_values = vec![0.0; values.len()];
        for (of, evaluator) in factors {
            let columns = start + of.start..start + of.end;
            self.evaluate_columns(evaluator, columns, row, range.clone(), &mut factor_values);
            values.iter_mut().zip(&factor_values).for_each(|(product, value)| *product *= value);
        }
    }

    /// The values of rows `i` of a range with rows `j` of another, in row order.
    pub(crate) fn between(&self, i: Range<usize>, j: Range<usize>) -> Vec<f64> {
        let mut values = vec![0.0; i.len() * j.len()];
        for (row, values) in i.zip(values.chunks_mut(j.len().max(1))) {
            self.with(self.rows.row(row), j.clone(), values);
        }
        values
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_gram_matrix() {
        let z = Matrix::from_fn(37, 3, |i, j| ((i * (31 + 17 * j) + 7 * j) % 256) as f64);
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": "median"}},
            {"start": 2, "end": 3, "kernel": {"name": "product", "factors": [
                {"start": 0, "end": 1, "kernel": {"name": "laplacian", "sigma": 3}},
                {"start": 0, "end": 1, "kernel": {"name": "cosine"}},
                {"start": 0, "end": 1, "kernel": {"name": "exact-match"}}]}}]}"#;
        for kernel in [
            Kernel::rbf(60.0),
            Kernel::MedianRbf,
            Kernel::Laplacian { scale: 100.0 },
            Kernel::MedianLaplacian,
            Kernel::LaplacianL1 { gamma: 0.01 },
            Kernel::rbf(0.01),
            Kernel::ExactMatch,
            serde_json::from_str(product).unwrap(),
        ] {
            let gram = kernel.gram(&z);
            let values = KernelValues::new(&kernel, &z, z.clone()).between(3..30, 5..37);
            for (at, value) in values.into_iter().enumerate() {
                let expected = gram[(3 + at / 32, 5 + at % 32)];
                assert!(
                    (value - expected).abs() <= 1e-14 * expected + 1e-300,
                    "{kernel:?}: {value} {expected}"
                );
            }
        }
    }
}
