//! Kernels of the conditioning variable, and their Gram matrices: on the host in `f64`, or on the device of a `z` that lies there, in
//! the float type of the embeddings.
//!
//! The four works write the same kernels with different bandwidths. Here every convention has its own name:
//!
//! | parameter | kernel | meaning | used by |
//! |---|---|---|---|
//! | `sigma` | rbf | `exp(-|z-z'|^2 / (2 sigma^2))` | Decoupled Uniformity; the usual reading of CCL-K |
//! | `temp_z` | rbf | `exp(-|z-z'|^2 / temp_z)`, so `temp_z = 2 sigma^2` | released CCL-K |
//! | `sigma = "median"` | rbf, laplacian | `sigma` is the median distance of the batch ([`median_distance`]) | ours |
//! | `sigma`, `temp_z` | laplacian | `exp(-|z-z'|_2 / sigma)`; both names have the same meaning | CCL-K |
//! | `gamma` | laplacian-l1 | `exp(-gamma |z-z'|_1)` | scikit-learn |
//! | `temp_z` | linear | `<z,z'> / temp_z`, 1 by default | CCL-K |
//! | `temp_z` | polynomial | `<z,z'>^3 / temp_z` (scaling after the cube, no offset) | released CCL-K |
//! | `gamma`, `offset`, `degree` | polynomial | `(gamma <z,z'> + offset)^degree` | scikit-learn |
//!
//! A `product` multiplies kernels on ranges of columns, so that several attributes condition together:
//! `factors = [{ start = 0, end = 3, kernel = { name = "rbf", sigma = 20 } }, { start = 3, end = 4, kernel = { name =
//! "exact-match" } }]`. `exact-match` turns clusters and labels into a kernel.

mod advice;
pub mod conditional;
mod config;
mod features;
mod first_batch;
mod gram_on_device;
mod low_rank;
mod median;
mod values;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::numeric::matrix::{Matrix, check_values};
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::vectors::{dot, squared_distance};

pub use advice::{Degeneracy, NoEffect};
pub use config::{Bandwidth, BandwidthRule, KERNELS, KernelConfig, NamedKernel};
pub use first_batch::{Remedy, Undecided};
pub use low_rank::{Approximation, LowRank};
pub use median::median_distance;

/// A kernel as a function of two rows, with its bandwidth computed.
pub type KernelFunction = Box<dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync>;

/// The least length by which the cosine divides, as in released CCL-K (`eps`).
const COSINE_EPSILON: f64 = 1e-8;

/// A positive semi-definite function of two conditioning values. Its numbers have the ranges of a [`KernelConfig`], and are
/// [checked](Self::check) where they are read by name, by an objective, and where weights are solved for. Its
/// [values](Self::function) are computed without a check: a `scale` of 0 gives NaN.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "KernelConfig", into = "KernelConfig")]
pub enum Kernel {
    /// `exp(-|z-z'|^2 / scale)`; `scale = 2 sigma^2 = temp_z`.
    Rbf {
        /// Divisor of the squared distance.
        scale: f64,
    },
    /// `exp(-|z-z'|_2 / scale)`, Euclidean distance, as released by CCL-K.
    Laplacian {
        /// Divisor of the distance.
        scale: f64,
    },
    /// [`Rbf`](Self::Rbf) with the median distance of the compared rows as its `sigma`.
    MedianRbf,
    /// [`Laplacian`](Self::Laplacian) with the median distance of the compared rows as its `sigma`.
    MedianLaplacian,
    /// `exp(-gamma |z-z'|_1)`.
    LaplacianL1 {
        /// Factor of the distance.
        gamma: f64,
    },
    /// `<z,z'> / scale`.
    Linear {
        /// Divisor.
        scale: f64,
    },
    /// `<z,z'> / (max(|z|, 1e-8) max(|z'|, 1e-8))`, as released by CCL-K.
    Cosine,
    /// `(gamma <z,z'> + offset)^degree / scale`.
    Polynomial {
        /// Factor of the inner product.
        gamma: f64,
        /// Added to the inner product.
        offset: f64,
        /// Exponent.
        degree: u32,
        /// Divisor after the power, the released `temp_z`.
        scale: f64,
    },
    /// 1 if two values are equal, else 0: clusters and labels as a kernel.
    ExactMatch,
    /// The product of kernels on groups of columns.
    Product {
        /// Each factor with its columns.
        factors: Vec<Factor>,
    },
}

/// One factor of a product kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// First column.
    pub start: usize,
    /// One past the last column.
    pub end: usize,
    /// The kernel on these columns.
    pub kernel: Kernel,
}

impl Kernel {
    /// The RBF kernel of standard deviation `sigma`, in the unit of `z`. The sign of `sigma` does not matter. [`check`](Self::check)
    /// refuses the kernel unless `2 sigma^2` is from 1e-250 to 1e250, and calls this number `kernel.temp_z`.
    pub fn rbf(sigma: f64) -> Self {
        Self::Rbf { scale: 2.0 * sigma * sigma }
    }

    /// Checks that its numbers, and those of the factors of a product, are in the ranges of a [`KernelConfig`]. A kernel that was read by
    /// name passes. Some that are refused have finite values all the same, such as one with an infinite `scale`.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the setting of a [`KernelConfig`]: a `scale` is `kernel.temp_z`.
    pub fn check(&self) -> Result<()> {
        Self::try_from(KernelConfig::from(self.clone()))?;
        match self {
            Self::Product { factors } => factors.iter().try_for_each(|factor| factor.kernel.check()),
            _ => Ok(()),
        }
    }

    /// The kernel as a function of two rows. A bandwidth given as a rule is computed from the rows of `z`; if these
    /// are all equal, any bandwidth gives the same result, and it is 1. [`fits`](Self::fits) checks that `z` has the columns of a
    /// product; here a factor whose columns `z` lacks reads those that exist, if any.
    pub fn function(&self, z: &Matrix) -> KernelFunction {
        match self.clone() {
            Self::Rbf { scale } => Box::new(move |a, b| (-squared_distance(a, b) / scale).exp()),
            Self::Laplacian { scale } => Box::new(move |a, b| (-squared_distance(a, b).sqrt() / scale).exp()),
            Self::MedianRbf | Self::MedianLaplacian => self.with_bandwidth_of(z).function(z),
            Self::LaplacianL1 { gamma } => Box::new(move |a, b| {
                (-gamma * a.iter().zip(b).map(|(x, y)| (x - y).abs()).sum::<f64>()).exp()
            }),
            Self::Linear { scale } => Box::new(move |a, b| dot(a, b) / scale),
            Self::Cosine => Box::new(|a, b| {
                let length = |row: &[f64]| dot(row, row).sqrt().max(COSINE_EPSILON);
                dot(a, b) / (length(a) * length(b))
            }),
            Self::Polynomial { gamma, offset, degree, scale } => {
                let degree = i32::try_from(degree).unwrap_or(i32::MAX);
                Box::new(move |a, b| (gamma * dot(a, b) + offset).powi(degree) / scale)
            }
            Self::ExactMatch => Box::new(|a, b| f64::from(u8::from(a == b))),
            Self::Product { factors } => {
                let of = |factor: Factor| (factor.kernel.function(&factor.columns_of(z)), factor);
                let factors: Vec<(KernelFunction, Factor)> = factors.into_iter().map(of).collect();
                Box::new(move |a, b| factors.iter().map(|(f, at)| f(at.part(a), at.part(b))).product())
            }
        }
    }

    /// The same kernel with numbers for bandwidths that are given as a rule, computed from the rows of `z`.
    pub(crate) fn with_bandwidth_of(&self, z: &Matrix) -> Self {
        let median = |z: &Matrix| median_distance(z).unwrap_or(1.0);
        match self {
            Self::MedianRbf => Self::rbf(median(z)),
            Self::MedianLaplacian => Self::Laplacian { scale: median(z) },
            Self::Product { factors } => {
                let of = |factor: &Factor| {
                    let kernel = factor.kernel.with_bandwidth_of(&factor.columns_of(z));
                    Factor { kernel, ..*factor }
                };
                Self::Product { factors: factors.iter().map(of).collect() }
            }
            _ => self.clone(),
        }
    }

    /// The Gram matrix `K_ij = k(z_i, z_j)` of the rows of `z`, `[b, b]`, for a `z` with all columns of a product, as
    /// [`fits`](Self::fits) checks.
    pub fn gram(&self, z: &Matrix) -> Matrix {
        let (b, kernel) = (z.rows(), self.function(z));
        let up_to = |i: usize| (0..=i).map(|j| kernel(z.row(i), z.row(j))).collect::<Vec<f64>>();
        let lower = parallel::map(0..b, up_to);
        Matrix::from_fn(b, b, |i, j| lower[i.max(j)][i.min(j)])
    }

    /// True if every value has kernel 1 with itself.
    fn has_unit_diagonal(&self) -> bool {
        match self {
            Self::Rbf { .. }
            | Self::Laplacian { .. }
            | Self::MedianRbf
            | Self::MedianLaplacian
            | Self::LaplacianL1 { .. }
            | Self::ExactMatch => true,
            Self::Linear { .. } | Self::Cosine | Self::Polynomial { .. } => false,
            Self::Product { factors } => factors.iter().all(|factor| factor.kernel.has_unit_diagonal()),
        }
    }

    /// Checks that the factors of a product read columns that `z` has.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the factor.
    pub fn fits(&self, z: &Matrix) -> Result<()> {
        self.fits_columns(z.columns())
    }

    /// As [`fits`](Self::fits), for a `z` with `columns` columns.
    pub(crate) fn fits_columns(&self, columns: usize) -> Result<()> {
        let Self::Product { factors } = self else { return Ok(()) };
        for factor in factors {
            if factor.end > columns {
                let value = format!("columns {} to {}", factor.start, factor.end);
                let noun = if columns == 1 { "column" } else { "columns" };
                let reason = format!("but the conditioning variable has {columns} {noun}");
                return Err(Error::parameter("kernel.factors", value, &reason));
            }
            factor.kernel.fits_columns(factor.end.saturating_sub(factor.start))?;
        }
        Ok(())
    }

    /// [Checks](Self::check) the kernel, the values of `z`, and that the kernel [fits](Self::fits) its columns.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the setting, [`Error::NotFinite`] or [`Error::TooLarge`] the row of `z`.
    fn check_with(&self, z: &Matrix) -> Result<()> {
        self.check()?;
        check_values("z", z)?;
        self.fits(z)
    }
}

impl Factor {
    fn part<'r>(&self, row: &'r [f64]) -> &'r [f64] {
        let end = self.end.min(row.len());
        &row[self.start.min(end)..end]
    }

    fn columns_of(&self, z: &Matrix) -> Matrix {
        let end = self.end.min(z.columns());
        let start = self.start.min(end);
        Matrix::from_fn(z.rows(), end - start, |i, j| z[(i, start + j)])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn kernel(json: &str) -> Result<Kernel, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    fn between(kernel: &Kernel, a: &[f64], b: &[f64]) -> f64 {
        let z = Matrix::new(2, a.len(), [a, b].concat()).unwrap();
        kernel.gram(&z)[(0, 1)]
    }

    const A: [f64; 3] = [1.0, 0.0, 2.0];
    const B: [f64; 3] = [0.5, 1.0, -1.0];

    #[test]
    fn bandwidth_conventions() {
        let of = |json| between(&kernel(json).unwrap(), &A, &B);
        let (squared, l1, inner) = (0.25 + 1.0 + 9.0, 4.5, -1.5);
        let cases = [
            (r#"{"name": "rbf", "sigma": 3}"#, f64::exp(-squared / 18.0)),
            (r#"{"name": "rbf", "temp_z": 18}"#, f64::exp(-squared / 18.0)),
            (r#"{"name": "laplacian", "sigma": 3}"#, f64::exp(-f64::sqrt(squared) / 3.0)),
            (r#"{"name": "laplacian", "temp_z": 3}"#, f64::exp(-f64::sqrt(squared) / 3.0)),
            (r#"{"name": "laplacian-l1", "gamma": 0.5}"#, f64::exp(-l1 / 2.0)),
            (r#"{"name": "linear", "temp_z": 2}"#, inner / 2.0),
            (r#"{"name": "polynomial", "temp_z": 2}"#, inner * inner * inner / 2.0),
            (r#"{"name": "polynomial", "gamma": 0.5, "offset": 1, "degree": 2}"#, 0.0625),
            (r#"{"name": "cosine"}"#, inner / (5.0_f64 * 2.25).sqrt()),
            (r#"{"name": "exact-match"}"#, 0.0),
        ];
        for (json, expected) in cases {
            assert!((of(json) - expected).abs() < 1e-14, "{json}: {} is not {expected}", of(json));
        }
    }

    #[test]
    fn a_product_multiplies_its_factors() {
        let json = r#"{"name": "product", "factors": [
            {"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": 1}},
            {"start": 2, "end": 3, "kernel": {"name": "linear"}}]}"#;
        let product = kernel(json).unwrap();
        let expected = between(&Kernel::rbf(1.0), &A[..2], &B[..2])
            * between(&Kernel::Linear { scale: 1.0 }, &A[2..], &B[2..]);
        assert!((between(&product, &A, &B) - expected).abs() < 1e-15);
        assert!(product.fits(&Matrix::zeros(2, 3)).is_ok());
        assert!(product.fits(&Matrix::zeros(2, 2)).unwrap_err().to_string().contains("has 2 columns"));
        assert!(product.fits(&Matrix::zeros(2, 1)).unwrap_err().to_string().ends_with("has 1 column"));
        assert!(kernel(r#"{"name": "product"}"#).unwrap_err().contains("factors"));
        let backwards =
            r#"{"name": "product", "factors": [{"start": 2, "end": 2, "kernel": {"name": "cosine"}}]}"#;
        assert!(kernel(backwards).unwrap_err().contains("factors"));
    }

    #[test]
    fn the_median_rule_follows_the_unit_of_the_data() {
        let z = Matrix::from_fn(9, 2, |i, j| ((i * (3 + j) + j) % 7) as f64);
        let larger = Matrix::from_fn(9, 2, |i, j| 100.0 * z[(i, j)]);
        for json in [r#"{"name": "rbf", "sigma": "median"}"#, r#"{"name": "laplacian", "sigma": "median"}"#] {
            let rule = kernel(json).unwrap();
            let (gram, of_larger) = (rule.gram(&z), rule.gram(&larger));
            assert!(gram.data().iter().zip(of_larger.data()).all(|(a, b)| (a - b).abs() < 1e-12));
            assert_eq!(serde_json::to_string(&rule).unwrap(), json.replace(' ', ""));
        }
        let sigma = median_distance(&z).unwrap();
        assert_eq!(Kernel::MedianRbf.gram(&z), Kernel::rbf(sigma).gram(&z));
        let equal = Kernel::MedianRbf.gram(&Matrix::zeros(3, 2));
        assert!(equal.data().iter().all(|&v| v == 1.0));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(kernel(r#"{"name": "rbff"}"#).unwrap_err().contains("rbf"));
        assert!(kernel(r#"{"name": "rbf", "sigma": -1}"#).unwrap_err().contains("kernel.sigma"));
        assert!(kernel(r#"{"name": "rbf", "sigma": 1, "temp_z": 2}"#).unwrap_err().contains("one bandwidth"));
        assert!(kernel(r#"{"name": "rbf", "sigma": "mean"}"#).unwrap_err().contains("median"));
        assert!(kernel(r#"{"name": "cosine", "sigma": "median"}"#).unwrap_err().contains("kernel.sigma"));
        assert!(kernel(r#"{"name": "polynomial", "degree": 0}"#).unwrap_err().contains("degree"));
        assert!(kernel(r#"{"name": "polynomial", "offset": -1}"#).unwrap_err().contains("offset"));
    }

    #[test]
    fn a_kernel_of_a_program_is_checked_by_the_divisor_that_its_bandwidth_makes() {
        for sigma in [-5.0, 1e-120, 1e120] {
            Kernel::rbf(sigma).check().unwrap();
        }
        for sigma in [1e-130, 1e130] {
            let error = Kernel::rbf(sigma).check().unwrap_err().to_string();
            assert!(error.starts_with("`kernel.temp_z` is "), "{sigma}: {error}");
        }
    }
}
