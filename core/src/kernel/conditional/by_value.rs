//! `W` of a product of exact matches and one kernel with features, from the features of the samples of each value.
//!
//! Samples of different values have kernel 0, and those of one value, group `g`, the kernel of the other factor, of features `Z_g`:
//!
//! ```text
//! W_ij = (Z_g (Z_g^T Z_g + ridge I)^-1 Z_g^T)_ij if i and j are both in group g, else 0
//! ```
//!
//! Large unscaled values make `K` so large that `f64` loses the ridge in `K + ridge I`: a cubic kernel of colours from 0 to 255 reaches
//! 1e15. Their features reach only its square root, beside which `f64` keeps the ridge.

use simile_kernels::cpu::parallel;

use super::accuracy::Accuracy;
use super::blocks;
use super::by_features::is_well_scaled;
use super::groups::EqualRows;
use super::system::SMALL;
use super::weights::{ConditionWeights, DENSE_ROWS, Storage};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernel::features::MOST_FEATURES;
use crate::numeric::matrix::Matrix;

/// The features of all samples, and the samples of each value.
pub(super) struct FeaturesByValue {
    groups: Vec<Vec<usize>>,
    features: Matrix,
}

impl FeaturesByValue {
    /// `None` if not exactly one factor is no exact match, or if that one does not have few features.
    pub(super) fn of(kernel: &Kernel, z: &Matrix) -> Option<Self> {
        let Kernel::Product { factors } = kernel else { return None };
        let factor = kernel.factor_with_features()?;
        let features = factor.kernel.features_of_any_number(&factor.columns_of(z))?;
        if features.columns() > MOST_FEATURES && features.columns() >= z.rows() {
            return None;
        }
        let groups = EqualRows::of(&blocks::exact_columns(factors, z)).members();
        Some(Self { groups, features })
    }

    /// `W` for a ridge above 0: in factors if these are at most half as large as its entries.
    ///
    /// # Errors
    /// As [`ConditionWeights::solve`].
    pub(super) fn solve(&self, ridge: f64) -> Result<ConditionWeights> {
        let rows = self.features.rows();
        let of_group = |members: &Vec<usize>| weights_of_one_value(&self.features.select(members), ridge);
        let solved =
            parallel::map_one_by_one(&self.groups, of_group).into_iter().collect::<Result<Vec<_>>>()?;
        let columns: usize = solved.iter().map(columns_of_factors).sum();
        let storage = if rows > DENSE_ROWS && 2 * columns <= rows {
            self.factors(&solved, columns)
        } else if rows <= SMALL {
            Storage::Dense(self.entries(&solved))
        } else {
            return Ok(blocks::in_single_precision(&self.groups, &solved));
        };
        let accuracy = solved.iter().map(ConditionWeights::accuracy).fold(Accuracy::Exact, Accuracy::and);
        Ok(ConditionWeights { storage, accuracy })
    }

    /// `W` by its entries.
    fn entries(&self, solved: &[ConditionWeights]) -> Matrix {
        let rows = self.features.rows();
        let mut entries = Matrix::zeros(rows, rows);
        for (members, block) in self.groups.iter().zip(solved) {
            let weights = block.to_matrix();
            for (&i, row) in members.iter().zip(weights.iter_rows()) {
                members.iter().zip(row).for_each(|(&j, &weight)| entries[(i, j)] = weight);
            }
        }
        entries
    }

    /// `W = L R^T` with the columns of the factors of one value after the other.
    fn factors(&self, solved: &[ConditionWeights], columns: usize) -> Storage {
        let rows = self.features.rows();
        let (mut left, mut right) = (Matrix::zeros(rows, columns), Matrix::zeros(rows, columns));
        let mut start = 0;
        for (members, block) in self.groups.iter().zip(solved) {
            let (left_block, right_block) = factors_of(block);
            let end = start + left_block.columns();
            for (at, &sample) in members.iter().enumerate() {
                left.row_mut(sample)[start..end].copy_from_slice(left_block.row(at));
                right.row_mut(sample)[start..end].copy_from_slice(right_block.row(at));
            }
            start = end;
        }
        Storage::Factors { diagonal: vec![0.0; rows], left, right }
    }
}

/// `W` of the samples of one value, which may be fewer than their features.
fn weights_of_one_value(features: &Matrix, ridge: f64) -> Result<ConditionWeights> {
    if features.columns() >= features.rows() && is_well_scaled(features, ridge) {
        // The system of the samples is the smaller one.
        let linear = Kernel::Linear { scale: 1.0 };
        return ConditionWeights::with_own_diagonal(&linear, features, ridge);
    }
    ConditionWeights::from_features(features, ridge)
}

/// Number of columns of [`factors_of`].
fn columns_of_factors(block: &ConditionWeights) -> usize {
    match &block.storage {
        Storage::Factors { left, .. } => left.columns(),
        _ => block.rows(),
    }
}

/// `L` and `R` with `W = L R^T`. The factors that features give have no diagonal beside them; entries have the identity as `R`.
fn factors_of(block: &ConditionWeights) -> (Matrix, Matrix) {
    match &block.storage {
        Storage::Factors { left, right, .. } => (left.clone(), right.clone()),
        _ => {
            let identity = |i, j| f64::from(u8::from(i == j));
            (block.to_matrix(), Matrix::from_fn(block.rows(), block.rows(), identity))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device, Tensor};

    use super::super::WeightProduct;
    use super::super::dense::solve_dense;
    use super::super::testing::{largest_difference, polynomial, weights_of};
    use super::*;
    use crate::kernel::Factor;

    const RIDGE: f64 = 0.01;

    /// The product of a kernel on three columns and an exact match on the fourth.
    fn product(kernel: Kernel) -> Kernel {
        let exact = Factor { start: 3, end: 4, kernel: Kernel::ExactMatch };
        Kernel::Product { factors: vec![Factor { start: 0, end: 3, kernel }, exact] }
    }

    /// Colours up to `most`, and a value.
    fn colours(n: usize, most: f64, value: impl Fn(usize) -> usize) -> Matrix {
        Matrix::from_fn(n, 4, |i, j| match j {
            3 => value(i) as f64,
            _ => ((i * i * (31 + 17 * j * j) + (7 + j) * i) % 1009) as f64 * (most / 1008.0),
        })
    }

    fn trace(w: &Matrix) -> f64 {
        (0..w.rows()).map(|i| w[(i, i)]).sum()
    }

    /// The traces were computed with 60 digits. From the Gram matrix those of degree 2 are off by 1e-3, and degree 3 is refused.
    #[test]
    fn badly_scaled_features_of_each_value_stay_a_projection() {
        for (samples, degree, exact) in [
            (60, 2, 19.984350348967617),
            (60, 3, 39.9653573206013),
            (200, 2, 19.992155126798373),
            (200, 3, 39.97694563286184),
            (SMALL + 76, 2, 19.998344188969977),
            (SMALL + 76, 3, 39.99512538413988),
        ] {
            let z = colours(samples, 252.0, |i| i % 2);
            let kernel = product(polynomial(1.0, degree));
            let w = weights_of(&kernel, &z, RIDGE).unwrap().to_matrix();
            assert!((trace(&w) - exact).abs() < 1e-6, "{samples}, degree {degree}: {}", trace(&w));
            for i in 0..samples {
                for j in 0..samples {
                    assert!(if (i + j) % 2 == 0 { w[(i, j)].abs() <= 1.0 + 1e-9 } else { w[(i, j)] == 0.0 });
                }
            }
            let device = Device::flex();
            let ones = Tensor::<2>::ones([samples, 1], (&device, DType::F64));
            let mapped = WeightProduct::new(&kernel, &z, RIDGE, &ones).unwrap().apply(ones).unwrap();
            let sums: Vec<f64> = w.iter_rows().map(|row| row.iter().sum()).collect();
            let off = (mapped - Matrix::column(&sums).to_tensor(&device, DType::F64)).abs().max();
            assert!(off.into_scalar::<f64>() < 1e-6, "{samples}, degree {degree}");
        }
    }

    /// Seven values of 3 to 14 samples, with 10 or 20 features; the traces are those of 60 digits.
    #[test]
    fn values_with_fewer_samples_than_features_are_solved() {
        let z = colours(60, 252.0, |i| (i * i + i / 3) % 7);
        for (degree, exact) in [(2, 52.40806656928893), (3, 59.99009898939706)] {
            let w = weights_of(&product(polynomial(1.0, degree)), &z, RIDGE).unwrap();
            let trace = trace(&w.to_matrix());
            assert!((trace - exact).abs() < 1e-6, "degree {degree}: {trace}");
        }
    }

    /// Rounding of the singular vectors gives a black sample weights of 1e-16, which a loss that normalises them would raise to 1.
    #[test]
    fn a_black_colour_has_no_weights() {
        let mut z = colours(60, 252.0, |_| 0);
        let black = [1, 4, 59];
        black.into_iter().for_each(|i| z.row_mut(i)[..3].fill(0.0));
        for kernel in [product(polynomial(0.0, 3)), polynomial(0.0, 3)] {
            let w = weights_of(&kernel, &z, RIDGE).unwrap().to_matrix();
            assert!(black.iter().all(|&i| w.row(i).iter().all(|&weight| weight == 0.0)), "{kernel:?}");
        }
    }

    #[test]
    fn every_form_gives_the_dense_solve() {
        let name = |storage: &Storage| match storage {
            Storage::Factors { .. } => "factors",
            Storage::Dense(_) => "dense",
            Storage::DenseF32(_) => "single",
            Storage::Groups(_) => "groups",
        };
        let (few, many) = (DENSE_ROWS + 22, SMALL + 26);
        for (samples, values, kernel, expected) in [
            (60, 9, Kernel::Cosine, "dense"),
            (60, 40, polynomial(1.0, 3), "dense"),
            (few, 20, Kernel::Linear { scale: 2.0 }, "factors"),
            (few, 60, polynomial(1.0, 2), "dense"),
            (many, 3, polynomial(1.0, 2), "factors"),
            (many, 1009, polynomial(1.0, 2), "single"),
        ] {
            let (z, kernel) = (colours(samples, 1.0, |i| i * i % values), product(kernel));
            let solved = weights_of(&kernel, &z, RIDGE).unwrap();
            assert_eq!(name(&solved.storage), expected, "{kernel:?}, {samples} samples");
            let dense = solve_dense(&kernel.gram(&z), RIDGE).unwrap();
            let allowed = solved.approximation_error().unwrap_or(1e-8);
            let off = largest_difference(&solved.to_matrix(), &dense);
            assert!(allowed < 1e-6 && off <= allowed, "{kernel:?}, {samples} samples: {off}, {allowed}");
        }
    }

    #[test]
    fn other_products_have_no_features_of_values() {
        let z = colours(60, 1.0, |i| i % 2);
        let of = |kernel: &Kernel| FeaturesByValue::of(kernel, &z).is_some();
        let linear = || Factor { start: 0, end: 3, kernel: Kernel::Linear { scale: 1.0 } };
        assert!(of(&product(Kernel::Cosine)));
        assert!(of(&Kernel::Product { factors: vec![linear()] }), "one value");
        assert!(!of(&product(Kernel::rbf(1.0))));
        assert!(!of(&product(Kernel::ExactMatch)));
        assert!(!of(&Kernel::Product { factors: vec![linear(), linear()] }));
        assert!(!of(&Kernel::Cosine));
    }
}
