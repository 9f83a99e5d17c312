//! `W` from features `Z` of the kernel, `K = Z Z^T`, in place of the samples' own system.
//!
//! With at least as many features as samples, that system is the smaller one. Large unscaled values take the features nevertheless: with
//! entries of `K` many orders of magnitude above the ridge, `f64` loses the ridge in `K + ridge I`; the features are of the size of
//! `sqrt(K)` only. Then, for `Z = U S V^T`, `U` is square, and
//!
//! ```text
//! W = I - U ridge (S^2 + ridge I)^-1 U^T
//! ```
//!
//! As `W` is nearly the identity, `U S^2 (S^2 + ridge I)^-1 U^T` would leave nothing but rounding in the off-diagonal weights, and a loss
//! that normalises the weights of the other samples uses only these.
//!
//! Rounding can move a singular value of 0 above the root of the ridge, so that it counts. Equal samples, which cause such values, are
//! decomposed as one, and samples without features are left out. If others are lost in rounding, the system is refused as singular.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use simile_kernels::cpu::vectors::dot;

use super::groups::EqualRows;
use super::system::{check_magnitude, singular, to_faer};
use super::weights::{ConditionWeights, Storage};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernel::features::MOST_FEATURES;
use crate::numeric::matrix::Matrix;

/// If `Z^T Z + ridge I` has a condition number below this, its Cholesky factor keeps eight digits of `W`.
const WELL_SCALED: f64 = 1e8;

/// The most that rounding may move singular values, which is about `f64::EPSILON` times the largest, relative to the least of them or to
/// the root of the ridge, whichever is larger. The error of `W` is at most half of this: 3000 random batches were compared with 300 digits.
const MOST_ROUNDING: f64 = 1e-3;

/// True if the Gram matrix of the features, and that of the samples, keeps eight digits of `W`.
pub(super) fn is_well_scaled(features: &Matrix, ridge: f64) -> bool {
    let trace: f64 = features.data().iter().map(|value| value * value).sum();
    trace < WELL_SCALED * ridge
}

/// The features from which `W` is computed for a ridge above 0: fewer than samples, or few of badly scaled values.
pub(super) fn features_to_solve(kernel: &Kernel, z: &Matrix, ridge: f64) -> Option<Matrix> {
    let features = kernel.features_of_any_number(z)?;
    let is_smaller = features.columns() < z.rows();
    let is_few = features.columns() <= MOST_FEATURES;
    (is_smaller || (is_few && !is_well_scaled(&features, ridge))).then_some(features)
}

impl ConditionWeights {
    /// `W` from the features of all samples: in factors, or by its entries where these are fewer.
    pub(super) fn from_features(features: &Matrix, ridge: f64) -> Result<Self> {
        check_magnitude(features)?;
        if !is_well_scaled(features, ridge) {
            return Self::from_badly_scaled(features, ridge);
        }
        let z = to_faer(features);
        let mut inner = z.transpose() * &z;
        for i in 0..inner.nrows() {
            inner[(i, i)] += ridge;
        }
        let factor = inner.llt(Side::Lower).map_err(|_| singular(ridge))?;
        let solution = factor.solve(z.transpose());
        let right = Matrix::from_fn(z.nrows(), z.ncols(), |i, j| solution[(j, i)]);
        let diagonal = vec![0.0; features.rows()];
        Ok(Self::exact(Storage::Factors { diagonal, left: features.clone(), right }))
    }

    /// The same from the singular values of the different samples, each of which stands for `n` equal ones with the root of `n` times
    /// its features, as in [groups](super::groups).
    fn from_badly_scaled(features: &Matrix, ridge: f64) -> Result<Self> {
        let (rows, columns) = (features.rows(), features.columns());
        let mut groups = EqualRows::of(features).members();
        // A sample whose features are 0 has no weights, of which rounding would make some.
        groups.retain(|members| features.row(members[0]).iter().any(|&value| value != 0.0));
        let roots: Vec<f64> = groups.iter().map(|members| (members.len() as f64).sqrt()).collect();
        let different = Mat::from_fn(groups.len(), columns, |g, j| roots[g] * features[(groups[g][0], j)]);
        let (left, right) = factors_by_svd(&different, ridge)?;
        let over_samples = |group_rows: &Matrix| {
            let mut spread = Matrix::zeros(rows, group_rows.columns());
            for (g, members) in groups.iter().enumerate() {
                for &sample in members {
                    let values = spread.row_mut(sample).iter_mut().zip(group_rows.row(g));
                    values.for_each(|(value, group_value)| *value = group_value / roots[g]);
                }
            }
            spread
        };
        let (left, right) = (over_samples(&left), over_samples(&right));
        let weights = Self::exact(Storage::Factors { diagonal: vec![0.0; rows], left, right });
        Ok(if rows > columns { weights } else { Self::exact(Storage::Dense(weights.to_matrix())) })
    }
}

/// `L` and `R` with `Z (Z^T Z + ridge I)^-1 Z^T = L R^T`, from the singular value decomposition of `Z`.
fn factors_by_svd(z: &Mat<f64>, ridge: f64) -> Result<(Matrix, Matrix)> {
    let svd = z.thin_svd().map_err(|_| singular(ridge))?;
    let (u, n) = (svd.U(), z.nrows());
    let s: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    if !is_resolved(&s, ridge) {
        return Err(singular(ridge));
    }
    if s.len() < n {
        let share = |j: usize| s[j] * s[j] / (s[j] * s[j] + ridge);
        let left = Matrix::from_fn(n, s.len(), |i, j| u[(i, j)] * share(j));
        return Ok((left, Matrix::from_fn(n, s.len(), |i, j| u[(i, j)])));
    }
    let root = |j: usize| (ridge / (s[j] * s[j] + ridge)).sqrt();
    let rest = Matrix::from_fn(n, n, |i, j| u[(i, j)] * root(j));
    let identity = |i: usize, j: usize| f64::from(u8::from(i == j));
    let left = Matrix::from_fn(n, n, |i, j| identity(i, j) - dot(rest.row(i), rest.row(j)));
    Ok((left, Matrix::from_fn(n, n, identity)))
}

/// True if all singular values, which descend, are large beside their rounding, or if the ridge is.
fn is_resolved(singular_values: &[f64], ridge: f64) -> bool {
    let (Some(largest), Some(least)) = (singular_values.first(), singular_values.last()) else { return true };
    f64::EPSILON * largest <= MOST_ROUNDING * least.max(ridge.sqrt())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device, Tensor};

    use super::super::WeightProduct;
    use super::super::dense::solve_dense;
    use super::super::isolated::largest_difference_of_shares;
    use super::super::testing::{BRIGHT, polynomial, weights_of};
    use super::super::weights::DENSE_ROWS;
    use super::*;
    use crate::kernel::Factor;

    const RIDGE: f64 = 0.01;

    fn cubic(offset: f64) -> Kernel {
        polynomial(offset, 3)
    }

    /// Colours from 0 to 252, without order.
    fn colours(n: usize) -> Matrix {
        let of = |i: usize, j: usize| ((i * i * (31 + 17 * j * j) + (7 + j) * i) % 1009) as f64 / 4.0;
        Matrix::from_fn(n, 3, of)
    }

    /// The traces were computed with 60 digits. As a rule, the systems of the samples are refused as singular.
    #[test]
    fn badly_scaled_samples_with_as_many_features_are_solved() {
        for (samples, twin, apart, exact) in [
            (8, 5, 0.0, 6.990098810535211),
            (20, 5, 0.0, 18.979074759714692),
            (20, 19, 0.25, 19.704244450240488),
        ] {
            let mut z = colours(samples);
            let first = z.row(twin - 1).to_vec();
            z.row_mut(twin).copy_from_slice(&first);
            z.row_mut(twin)[0] += apart;
            let w = weights_of(&cubic(1.0), &z, RIDGE).unwrap().to_matrix();
            let trace: f64 = (0..samples).map(|i| w[(i, i)]).sum();
            assert!((trace - exact).abs() < 1e-6, "{samples}: {trace}");
            let ones = Tensor::<2>::ones([samples, 1], (&Device::flex(), DType::F64));
            let mapped = WeightProduct::new(&cubic(1.0), &z, RIDGE, &ones).unwrap().apply(ones).unwrap();
            let sums: Vec<f64> = w.iter_rows().map(|row| row.iter().sum()).collect();
            let off = (mapped - Matrix::column(&sums).to_tensor(&Device::flex(), DType::F64)).abs().max();
            assert!(off.into_scalar::<f64>() < 1e-9, "{samples}");
        }
    }

    /// The weights of other samples are at most 1e-15.
    #[test]
    fn nearly_alone_samples_have_the_shares_of_the_dense_solve() {
        let z = Matrix::from_fn(BRIGHT.len(), 4, |i, j| BRIGHT[i].get(j).copied().unwrap_or(7.0));
        let factor = |start, end, kernel| Factor { start, end, kernel };
        let exact = factor(3, 4, Kernel::ExactMatch);
        let product = Kernel::Product { factors: vec![factor(0, 3, cubic(0.0)), exact] };
        let dense = solve_dense(&product.gram(&z), RIDGE).unwrap();
        let plain = Matrix::from_fn(z.rows(), 3, |i, j| z[(i, j)]);
        for (kernel, z) in [(&product, &z), (&cubic(0.0), &plain)] {
            let w = weights_of(kernel, z, RIDGE).unwrap().to_matrix();
            for i in 0..w.rows() {
                let off = largest_difference_of_shares(i, w.row(i), dense.row(i));
                assert!(off < 1e-6, "{kernel:?}, sample {i}: {off}");
            }
        }
    }

    fn largest_difference(w: &Matrix, expected: impl Fn(usize, usize) -> f64) -> f64 {
        let exact = Matrix::from_fn(w.rows(), w.rows(), expected);
        w.data().iter().zip(exact.data()).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
    }

    /// Decomposed apart, twins have a singular value of 0, which rounding moves above the root of the ridge: weights of 1 and 0.
    #[test]
    fn equal_samples_share_their_weight_at_any_scale() {
        let colours = colours(13);
        for scale in [260.0, 1200.0, 4000.0] {
            let place = |i: usize| if i == 7 { 4 } else { i };
            let z = Matrix::from_fn(12, 3, |i, j| scale * colours[(1 + place(i), j)]);
            let w = weights_of(&cubic(1.0), &z, RIDGE).unwrap().to_matrix();
            let off = largest_difference(&w, |i, j| match (place(i), place(j)) {
                (4, 4) => 0.5,
                (a, b) => f64::from(u8::from(a == b)),
            });
            assert!(off < 1e-9, "scale {scale}: {off}");
        }
        let six = Matrix::from_fn(60, 3, |i, j| 260.0 * colours[(1 + i % 6, j)]);
        let w = weights_of(&cubic(1.0), &six, RIDGE).unwrap().to_matrix();
        let off = largest_difference(&w, |i, j| if i % 6 == j % 6 { 0.1 } else { 0.0 });
        assert!(off < 1e-9, "six values: {off}");
    }

    /// Greys have few singular values above 0. The trace was computed with 300 digits.
    #[test]
    fn values_that_rounding_hides_are_refused_unless_the_ridge_is_larger() {
        let greys = |samples: usize, step: f64| Matrix::from_fn(samples, 3, |i, _| step * i as f64);
        let w = weights_of(&cubic(1.0), &greys(42, 6.0), RIDGE).unwrap().to_matrix();
        let trace: f64 = (0..42).map(|i| w[(i, i)]).sum();
        assert!((trace - 3.99680664981).abs() < 1e-6, "{trace}");
        for (samples, offset) in [(12, 0.0), (12, 1.0), (40, 0.0), (40, 1.0)] {
            let solved = weights_of(&cubic(offset), &greys(samples, 4000.0), RIDGE);
            let error = solved.unwrap_err().to_string();
            assert!(error.contains("singular") && error.contains("scale"), "{samples}, {offset}: {error}");
        }
    }

    #[test]
    fn features_are_solved_if_they_are_fewer_or_badly_scaled() {
        let are_solved = |kernel: &Kernel, z: &Matrix| features_to_solve(kernel, z, RIDGE).is_some();
        let small = Matrix::from_fn(12, 3, |i, j| colours(12)[(i, j)] / 252.0);
        assert!(are_solved(&cubic(0.0), &small), "10 features of 12 samples");
        assert!(!are_solved(&cubic(1.0), &small), "20 features of 12 samples");
        assert!(are_solved(&cubic(1.0), &colours(12)));
        let wide = Matrix::from_fn(8, MOST_FEATURES + 1, |i, j| (1000 * (i + j) % 997) as f64);
        assert!(!are_solved(&Kernel::Linear { scale: 1.0 }, &wide));
        assert!(!are_solved(&Kernel::rbf(1.0), &colours(12)));
    }

    /// Factors would be twice as many numbers as the entries.
    #[test]
    fn as_many_features_as_samples_give_entries() {
        let n = DENSE_ROWS + 12;
        let z = Matrix::from_fn(n, n + 5, |i, j| ((i * i * (31 + j * j) + (7 + j) * i) % 1009) as f64);
        let linear = Kernel::Linear { scale: 1.0 };
        assert!(features_to_solve(&linear, &z, RIDGE).is_some());
        let solved = weights_of(&linear, &z, RIDGE).unwrap();
        assert!(matches!(solved.storage, Storage::Dense(_)));
        let (w, dense) = (solved.to_matrix(), solve_dense(&linear.gram(&z), RIDGE).unwrap());
        assert!(w.data().iter().zip(dense.data()).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}
