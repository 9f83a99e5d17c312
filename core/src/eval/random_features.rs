//! Random features, which make a linear probe non-linear: `phi(x) = max(0, x A + c)`, one hidden layer with random,
//! frozen weights (Rahimi & Recht, *Random Features for Large-Scale Kernel Machines*, 2007; rectified, as in Cho &
//! Saul 2009). With many of them a ridge regression on `phi(x)` is kernel regression with `k(x, y) = E max(0, w·x + c) max(0, w·y + c)`:
//! the arc-cosine kernel of degree 1 with a random offset `c`, which the original lacks.
//!
//! As probes of leakage they have two advantages over a trained network: the fit is convex, so that the result does
//! not depend on a learning rate, and the seed is the only setting to report.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

use simile_kernels::cpu::parallel;

use super::blocks::rows_of_block;
use super::{check_matrix, dense};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, FeatureTable, Rows};

/// The frozen layer.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomFeatures {
    /// `[inputs, count]`.
    weights: Matrix,
    offsets: Vec<f64>,
}

impl RandomFeatures {
    /// `count` features of rows with `inputs` columns, which should be standardised: normal weights of variance
    /// `1 / inputs`, offsets uniform in -1 to 1.
    pub fn draw(inputs: usize, count: usize, rng: &mut impl Rng) -> Self {
        let deviation = 1.0 / (inputs.max(1) as f64).sqrt();
        let weights = Matrix::from_fn(inputs, count, |_, _| deviation * rng.sample::<f64, _>(StandardNormal));
        let offsets = (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
        Self { weights, offsets }
    }

    /// `phi` of every row, `[n, count]`.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another width, [`Error::NotFinite`] naming the first bad row.
    pub fn apply(&self, rows: &Matrix) -> Result<Matrix> {
        check_matrix("features", rows)?;
        if rows.columns() != self.weights.rows() {
            let expected = format!("{} columns", self.weights.rows());
            return Err(Error::shape("features", expected, rows.columns().to_string()));
        }
        let mut features = Matrix::zeros(rows.rows(), self.offsets.len());
        dense::gemm(dense::view_mut(&mut features), dense::view(rows), dense::view(&self.weights), 1.0);
        for i in 0..features.rows() {
            features.row_mut(i).iter_mut().zip(&self.offsets).for_each(|(v, c)| *v = (*v + c).max(0.0));
        }
        Ok(features)
    }

    /// Rows and their `phi` side by side, `[n, inputs + count]`: a linear probe on these also has the original
    /// columns.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn beside(&self, rows: &dyn Rows) -> Result<FeatureTable> {
        let wide = self.of(rows);
        let (count, columns) = (wide.rows(), wide.columns());
        let step = rows_of_block(columns);
        let of_block = |first: usize| {
            let mut values = vec![0.0; step.min(count - first) * columns];
            wide.read(first, Buffer::Single(&mut values))?;
            Ok(values)
        };
        let blocks = parallel::map((0..count).step_by(step), of_block);
        let values = blocks.into_iter().collect::<Result<Vec<Vec<f32>>>>()?.concat();
        FeatureTable::new(count, columns, values)
    }

    /// As [`beside`](Self::beside), computed where the rows are read: nothing is copied.
    pub fn of<R: Rows>(&self, rows: R) -> Beside<'_, R> {
        Beside { rows, features: self }
    }
}

/// Rows beside their random features in `f32`, which are computed where the rows are read.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'a, R> {
    rows: R,
    features: &'a RandomFeatures,
}

impl<R: Rows> Rows for Beside<'_, R> {
    fn is_single(&self) -> bool {
        true
    }

    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.rows.columns() + self.features.offsets.len()
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> Result<()> {
        let (inputs, columns) = (self.rows.columns(), self.columns());
        let (rows, step) = (out.len() / columns.max(1), rows_of_block(columns));
        for start in (0..rows).step_by(step) {
            let mut block = Matrix::zeros(step.min(rows - start), inputs);
            self.rows.read(first + start, Buffer::Double(block.data_mut()))?;
            let lifted = self.features.apply(&block).map_err(|error| in_all_rows(error, first + start))?;
            let pairs = block.iter_rows().zip(lifted.iter_rows());
            let values = pairs.flat_map(|(row, phi)| row.iter().chain(phi)).map(|&value| value as f32);
            out.part(start * columns, block.rows() * columns).write(values);
        }
        Ok(())
    }
}

/// An error of a block as one of all rows, of which `first` is the first in the block.
fn in_all_rows(error: Error, first: usize) -> Error {
    match error {
        Error::NotFinite { input, row } => Error::NotFinite { input, row: first + row },
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::eval::blocks::testing::InBlocks;
    use crate::eval::ridge::Ridge;
    use crate::eval::standardise::Standardise;
    use crate::numeric::rows::to_matrix;

    #[test]
    fn what_is_not_linear_can_be_read_off_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let rows = Matrix::from_fn(1200, 4, |_, _| rng.sample::<f64, _>(StandardNormal));
        // A product of two columns has no linear correlation with either.
        let target = Matrix::from_fn(1200, 1, |i, _| rows[(i, 0)] * rows[(i, 1)]);
        let (train, test) = ((0..800).collect::<Vec<_>>(), (800..1200).collect::<Vec<_>>());
        let r2 = |features: &Matrix| {
            let scale = Standardise::fit(&features.select(&train)).unwrap();
            let part = |rows: &[usize]| scale.apply(&features.select(rows)).unwrap();
            let ridge = Ridge::fit(&part(&train), &target.select(&train), 1e-2).unwrap();
            ridge.evaluate(&part(&test), &target.select(&test)).unwrap().r2.unwrap()
        };
        let lifted = RandomFeatures::draw(4, 256, &mut rng).apply(&rows).unwrap();
        assert!(r2(&rows) < 0.1 && r2(&lifted) > 0.9, "{} {}", r2(&rows), r2(&lifted));
    }

    /// It was named by its place in a block.
    #[test]
    fn a_value_that_is_not_finite_is_named_by_its_row_of_all() {
        let lift = RandomFeatures::draw(4, 256, &mut ChaCha8Rng::seed_from_u64(0));
        let bad = 2 * rows_of_block(4 + 256) + 3;
        let mut rows = Matrix::zeros(bad + 5, 4);
        rows[(bad, 2)] = f64::NAN;
        let error = lift.beside(&rows).unwrap_err();
        assert_eq!(error, Error::NotFinite { input: "features".into(), row: bad });
    }

    /// All test rows were kept beside theirs, and once more while they were put together.
    #[test]
    fn what_is_computed_where_it_is_read_is_what_can_be_kept() {
        let lift = RandomFeatures::draw(60, 4, &mut ChaCha8Rng::seed_from_u64(0));
        let value = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f64 - 5.0;
        let rows = Matrix::from_fn(2 * rows_of_block(64) + 3, 60, value);
        let stored = to_matrix(&lift.beside(&rows).unwrap()).unwrap();
        assert_eq!(to_matrix(&lift.of(InBlocks(&rows))).unwrap(), stored);
    }

    #[test]
    fn rows_of_another_width_are_refused() {
        let lift = RandomFeatures::draw(3, 8, &mut ChaCha8Rng::seed_from_u64(0));
        assert!(matches!(lift.apply(&Matrix::zeros(2, 4)), Err(Error::Shape { .. })));
    }
}
