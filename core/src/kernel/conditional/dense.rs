//! The dense solution of `(K + ridge I) W = K`, and its check for singular systems.
//!
//! Samples may differ by many orders of magnitude: with a cubic kernel a bright colour has `k_ii` of 1e15 and a black one 0. A pivot is
//! therefore compared with the entries of its own row, not with the largest of the matrix.

use faer::linalg::solvers::{DenseSolveCore, Llt};
use faer::{Mat, Side};

use super::system::{check_magnitude, singular, to_faer};
use crate::error::Result;
use crate::numeric::matrix::Matrix;

/// Rounds of [`scales`]. Each takes the square root of what is left of the differences between rows.
const ROUNDS: usize = 12;

/// `(K + ridge I)^-1 K` by Cholesky, or by LU if `K + ridge I` is not positive definite.
///
/// # Errors
/// [`Error::Degenerate`](crate::error::Error::Degenerate) if `K + ridge I` is singular or a value of `K` is too large.
pub(super) fn solve_dense(gram: &Matrix, ridge: f64) -> Result<Matrix> {
    let regularised = regularised(gram, ridge)?;
    let inverse = match cholesky(&regularised, ridge)? {
        Some(factor) => factor.inverse(),
        None => inverse_by_lu(&regularised, ridge)?,
    };
    let weights = Matrix::from_fn(gram.rows(), gram.rows(), |i, j| {
        let identity = f64::from(u8::from(i == j));
        identity - ridge * inverse[(i, j)]
    });
    if weights.first_not_finite().is_some() { Err(singular(ridge)) } else { Ok(weights) }
}

/// `K + ridge I`.
///
/// # Errors
/// [`Error::Degenerate`](crate::error::Error::Degenerate) if a value of `K` is too large.
pub(super) fn regularised(gram: &Matrix, ridge: f64) -> Result<Mat<f64>> {
    check_magnitude(gram)?;
    let mut regularised = to_faer(gram);
    for i in 0..gram.rows() {
        regularised[(i, i)] += ridge;
    }
    Ok(regularised)
}

/// The Cholesky factor of `A = K + ridge I`; `None` if `A` is not positive definite.
///
/// # Errors
/// [`Error::Degenerate`](crate::error::Error::Degenerate) if `A` is singular.
pub(super) fn cholesky(a: &Mat<f64>, ridge: f64) -> Result<Option<Llt<f64>>> {
    let Ok(factor) = a.llt(Side::Lower) else { return Ok(None) };
    let pivots = (0..a.nrows()).map(|i| (factor.L()[(i, i)].powi(2), a[(i, i)]));
    check_pivots(pivots, ridge)?;
    Ok(Some(factor))
}

/// Checks pivots, each given with the size of the entries from which it was subtracted: one within their rounding error counts
/// as zero. For Cholesky that size is the diagonal entry.
///
/// # Errors
/// [`Error::Degenerate`](crate::error::Error::Degenerate) if a pivot is zero.
fn check_pivots(pivots: impl ExactSizeIterator<Item = (f64, f64)>, ridge: f64) -> Result<()> {
    let rounding = pivots.len() as f64 * f64::EPSILON;
    let is_regular = pivots.into_iter().all(|(pivot, size)| pivot > size * rounding);
    if is_regular { Ok(()) } else { Err(singular(ridge)) }
}

/// The inverse of a symmetric matrix `A` that is not positive definite, as `S (S A S)^-1 S` with the [scales](scales) `S` of its rows.
fn inverse_by_lu(matrix: &Mat<f64>, ridge: f64) -> Result<Mat<f64>> {
    let (n, s) = (matrix.nrows(), scales(matrix));
    let scaled = |matrix: &Mat<f64>| Mat::from_fn(n, n, |i, j| s[i] * matrix[(i, j)] * s[j]);
    let balanced = scaled(matrix);
    let factor = balanced.partial_piv_lu();
    let largest = balanced.norm_max();
    check_pivots((0..n).map(|i| (factor.U()[(i, i)].abs(), largest)), ridge)?;
    Ok(scaled(&factor.inverse()))
}

/// Factors of the rows and columns of a symmetric matrix with which the largest entry of each is about 1 (Ruiz, 2001). They are powers
/// of two, so that products with them are exact.
fn scales(matrix: &Mat<f64>) -> Vec<f64> {
    let n = matrix.nrows();
    let mut scales = vec![1.0_f64; n];
    for _ in 0..ROUNDS {
        let largest =
            |i: usize| (0..n).map(|j| (scales[i] * matrix[(i, j)] * scales[j]).abs()).fold(0.0, f64::max);
        let factors: Vec<f64> = (0..n)
            .map(|i| match largest(i) {
                0.0 => 1.0,
                largest => (-largest.log2() / 2.0).round().exp2(),
            })
            .collect();
        if factors.iter().all(|&factor| factor == 1.0) {
            break;
        }
        scales.iter_mut().zip(factors).for_each(|(scale, factor)| *scale *= factor);
    }
    scales
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device, Tensor};

    use super::super::testing::{BRIGHT, weights_of};
    use super::super::{ConditionWeights, GramDiagonal, WeightProduct};
    use super::*;
    use crate::kernel::Kernel;

    const CUBIC: Kernel = Kernel::Polynomial { gamma: 1.0, offset: 0.0, degree: 3, scale: 1.0 };

    /// Colours of which the first, if asked for, is black.
    fn colours(with_black: bool) -> Matrix {
        let black = usize::from(with_black);
        Matrix::from_fn(BRIGHT.len() + black, 3, |i, j| i.checked_sub(black).map_or(0.0, |i| BRIGHT[i][j]))
    }

    /// A black colour has the kernel 0 with every other, so it changes nothing between them. Its own pivot is the ridge, beside those
    /// of 1e15 of the others.
    #[test]
    fn a_black_colour_among_bright_ones_is_no_singular_system() {
        for (diagonal, own) in [(GramDiagonal::OfKernel, 0.0), (GramDiagonal::One, 1.0 / 1.01)] {
            let [with, without] = [true, false].map(|black| {
                ConditionWeights::solve(&CUBIC, &colours(black), 0.01, diagonal).unwrap().to_matrix()
            });
            assert!((with[(0, 0)] - own).abs() < 1e-12, "{}", with[(0, 0)]);
            for i in 1..with.rows() {
                assert!(with[(0, i)].abs() < 1e-12 && with[(i, 0)].abs() < 1e-12);
                for j in 1..with.rows() {
                    let (with, without) = (with[(i, j)], without[(i - 1, j - 1)]);
                    assert!((with - without).abs() < 1e-9, "{i} {j}: {with} {without}");
                }
            }
        }
    }

    /// Kernel Decoupled Uniformity applies the weights of such a system.
    #[test]
    fn a_map_of_rows_has_a_black_colour_too() {
        let (device, z) = (Device::flex(), colours(true));
        let ones = Tensor::<2>::ones([z.rows(), 1], (&device, DType::F64));
        let weights = weights_of(&CUBIC, &z, 0.01).unwrap().to_matrix();
        let sums: Vec<f64> = weights.iter_rows().map(|row| row.iter().sum()).collect();
        let mapped = WeightProduct::new(&CUBIC, &z, 0.01, &ones).unwrap().apply(ones).unwrap();
        let off = (mapped - Matrix::column(&sums).to_tensor(&device, DType::F64)).abs().max();
        assert!(off.into_scalar::<f64>() < 1e-9);
    }

    #[test]
    fn rows_are_balanced_by_powers_of_two() {
        let matrix = Mat::from_fn(3, 3, |i, j| [[1.0, 1e15, 0.0], [1e15, 1.0, 0.0], [0.0, 0.0, 3e-9]][i][j]);
        let s = scales(&matrix);
        for i in 0..3 {
            assert_eq!(s[i].log2().fract(), 0.0);
            let largest = (0..3).map(|j| s[i] * matrix[(i, j)] * s[j]).fold(0.0, f64::max);
            assert!((0.25..4.0).contains(&largest), "row {i}: {largest}");
        }
        assert_eq!(scales(&Mat::zeros(2, 2)), [1.0, 1.0], "a row of zeros stays");
    }
}
