//! Explicit features of the kernels that have a small number of them.

use simile_kernels::cpu::vectors::dot;

use super::{COSINE_EPSILON, Factor, Kernel};
use crate::numeric::matrix::Matrix;

/// Maximum number of features.
pub(super) const MOST_FEATURES: usize = 512;

impl Kernel {
    /// True for a kernel that has [`features`](Self::features), given enough rows.
    pub(super) fn has_features(&self) -> bool {
        match *self {
            Self::Linear { scale } => scale > 0.0,
            Self::Cosine => true,
            Self::Polynomial { gamma, offset, scale, .. } => offset >= 0.0 && gamma > 0.0 && scale > 0.0,
            _ => false,
        }
    }

    /// Features `phi` with few columns and `K = phi phi^T`, for the kernels that have them: linear, cosine, and the
    /// polynomial. `None` for the others, or if there would be as many columns as rows.
    pub fn features(&self, z: &Matrix) -> Option<Matrix> {
        self.features_of_any_number(z).filter(|features| features.columns() < z.rows())
    }

    /// The number of [`features`](Self::features) of rows with `columns` columns, given enough rows; `None` for a kernel without
    /// them, or with too many.
    pub(super) fn number_of_features(&self, columns: usize) -> Option<usize> {
        match *self {
            _ if !self.has_features() => None,
            Self::Polynomial { gamma, offset, degree, .. } => {
                number_of_monomials(columns_with(offset / gamma, columns), degree)
            }
            _ => Some(columns),
        }
    }

    /// The one factor of a product that is no exact match, if it has [`features`](Self::features).
    pub(super) fn factor_with_features(&self) -> Option<&Factor> {
        let Self::Product { factors } = self else { return None };
        let mut others = factors.iter().filter(|factor| factor.kernel != Self::ExactMatch);
        let only = others.next().filter(|factor| factor.kernel.has_features())?;
        others.next().is_none().then_some(only)
    }

    /// As [`features`](Self::features), also if there are as many columns as rows, or more.
    pub(super) fn features_of_any_number(&self, z: &Matrix) -> Option<Matrix> {
        if !self.has_features() {
            return None;
        }
        let scaled = |factor: &dyn Fn(&[f64]) -> f64| {
            let mut features = z.clone();
            for i in 0..z.rows() {
                let factor = factor(z.row(i));
                features.row_mut(i).iter_mut().for_each(|v| *v *= factor);
            }
            features
        };
        match self {
            Self::Linear { scale } => Some(scaled(&|_| scale.sqrt().recip())),
            Self::Cosine => Some(scaled(&|row| dot(row, row).sqrt().max(COSINE_EPSILON).recip())),
            Self::Polynomial { gamma, offset, degree, scale } => {
                let mut monomials = monomials(&with_offset(z, offset / gamma), *degree)?;
                let factor = (gamma.powi(i32::try_from(*degree).ok()?) / scale).sqrt();
                monomials.data_mut().iter_mut().for_each(|v| *v *= factor);
                Some(monomials)
            }
            _ => None,
        }
    }
}

/// The rows of `z` with a column more if `offset` is not 0, so that inner products are larger by it.
fn with_offset(z: &Matrix, offset: f64) -> Matrix {
    let value = |i, j| if j < z.columns() { z[(i, j)] } else { offset.sqrt() };
    Matrix::from_fn(z.rows(), columns_with(offset, z.columns()), value)
}

/// The number of columns of rows of `columns` columns [with an offset](with_offset).
fn columns_with(offset: f64, columns: usize) -> usize {
    columns + usize::from(offset > 0.0)
}

/// The number of products of `degree` columns, regardless of their order; `None` if there are too many.
fn number_of_monomials(columns: usize, degree: u32) -> Option<usize> {
    // Of `n` columns there are `n (n + 1) ... (n + degree - 1) / degree!`: never fewer with one factor more, and an integer at each.
    (0..degree as usize).try_fold(1_usize, |count, factor| {
        let next = count.saturating_mul(columns + factor) / (factor + 1);
        (next <= MOST_FEATURES).then_some(next)
    })
}

/// Products of `degree` columns, each weighted by the square root of its multinomial coefficient, so that inner
/// products of these features are powers of inner products.
fn monomials(z: &Matrix, degree: u32) -> Option<Matrix> {
    number_of_monomials(z.columns(), degree)?;
    let mut exponents = vec![vec![0_u32; z.columns()]];
    for _ in 0..degree {
        let mut next: Vec<Vec<u32>> = Vec::new();
        for e in &exponents {
            for column in 0..z.columns() {
                let mut raised = e.clone();
                raised[column] += 1;
                next.push(raised);
            }
        }
        next.sort_unstable();
        next.dedup();
        exponents = next;
    }
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let roots: Vec<f64> = exponents
        .iter()
        .map(|e| (factorial(degree) / e.iter().map(|&n| factorial(n)).product::<f64>()).sqrt())
        .collect();
    Some(Matrix::from_fn(z.rows(), exponents.len(), |i, j| {
        let powers = z.row(i).iter().zip(&exponents[j]);
        roots[j] * powers.map(|(v, &n)| v.powi(i32::try_from(n).unwrap_or(i32::MAX))).product::<f64>()
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn inner_products_of_features_are_the_kernel() {
        let z = Matrix::from_fn(30, 3, |i, j| ((i * 7 + j * 5) % 11) as f64 / 4.0 - 1.0);
        let polynomial = |offset, degree| Kernel::Polynomial { gamma: 0.5, offset, degree, scale: 2.0 };
        let polynomials = [polynomial(0.0, 3), polynomial(1.5, 3), polynomial(0.7, 2)];
        for kernel in [Kernel::Linear { scale: 3.0 }, Kernel::Cosine].into_iter().chain(polynomials) {
            let features = kernel.features(&z).unwrap();
            let gram = kernel.gram(&z);
            for i in 0..30 {
                for j in 0..30 {
                    assert!((dot(features.row(i), features.row(j)) - gram[(i, j)]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_number_of_features_is_known_before_the_rows_are() {
        let polynomial = |offset, degree| Kernel::Polynomial { gamma: 0.5, offset, degree, scale: 2.0 };
        let mut polynomials: Vec<Kernel> = (1..=4).map(|degree| polynomial(0.0, degree)).collect();
        polynomials.extend([polynomial(1.5, 2), polynomial(1.5, 3), polynomial(-1.0, 2)]);
        let others = [Kernel::Linear { scale: 3.0 }, Kernel::Cosine, Kernel::rbf(1.0), Kernel::ExactMatch];
        let mut none = 0;
        for kernel in polynomials.iter().chain(&others) {
            for columns in [1, 2, 6, 13, 14, 31, 32, 40, 513] {
                let z = Matrix::from_fn(2, columns, |i, j| (i + j) as f64);
                let computed = kernel.features_of_any_number(&z).map(|features| features.columns());
                assert_eq!(kernel.number_of_features(columns), computed, "{kernel:?}, {columns} columns");
                none += usize::from(computed.is_none() && kernel.has_features());
            }
        }
        assert!(none > 10, "{none} have too many features");
    }

    #[test]
    fn kernels_without_few_features_have_none() {
        let z = Matrix::from_fn(30, 3, |i, j| (i + j) as f64);
        let negative = Kernel::Polynomial { gamma: 1.0, offset: -1.0, degree: 2, scale: 1.0 };
        assert!(negative.features(&z).is_none());
        assert!(Kernel::rbf(1.0).features(&z).is_none());
        assert!(Kernel::Cosine.features(&z.select(&[0, 1, 2])).is_none());
        let wide = Matrix::from_fn(5000, 40, |i, j| (i + j) as f64);
        assert!(
            Kernel::Polynomial { gamma: 1.0, offset: 0.0, degree: 3, scale: 1.0 }.features(&wide).is_none()
        );
    }
}
