//! Kernels of the conditioning variable, and their Gram matrices, on the host in `f64`.
//!
//! The four works write the same kernels with different bandwidths. Here every convention has a name of its own:
//!
//! | parameter | kernel | meaning | used by |
//! |---|---|---|---|
//! | `sigma` | rbf | `exp(-|z-z'|^2 / (2 sigma^2))` | Decoupled Uniformity; the usual reading of CCL-K |
//! | `temp_z` | rbf | `exp(-|z-z'|^2 / temp_z)`, so `temp_z = 2 sigma^2` | released CCL-K |
//! | `sigma`, `temp_z` | laplacian | `exp(-|z-z'|_2 / sigma)`, both names mean the same | CCL-K |
//! | `gamma` | laplacian-l1 | `exp(-gamma |z-z'|_1)` | scikit-learn |
//! | `temp_z` | linear | `<z,z'> / temp_z`, 1 by default | CCL-K |
//! | `temp_z` | polynomial | `<z,z'>^3 / temp_z` (scaling after the cube, no offset) | released CCL-K |
//! | `gamma`, `offset`, `degree` | polynomial | `(gamma <z,z'> + offset)^degree` | scikit-learn |

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, positive};
use crate::matrix::Matrix;

/// Rows shorter than this have cosine 0 with anything, as in released CCL-K (`eps`).
const COSINE_EPSILON: f64 = 1e-8;

/// A positive semi-definite function of two conditioning values.
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
    /// `<z,z'> / (|z| |z'|)`.
    Cosine,
    /// `(gamma <z,z'> + offset)^degree / scale`.
    Polynomial {
        /// Factor of the inner product.
        gamma: f64,
        /// Added to it.
        offset: f64,
        /// Exponent.
        degree: u32,
        /// Divisor after the power, the released `temp_z`.
        scale: f64,
    },
    /// 1 where two values are equal, else 0: clusters and labels as a kernel.
    ExactMatch,
    /// The product of kernels on groups of columns.
    Product {
        /// Each factor with the columns it looks at.
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
    /// The RBF kernel of standard deviation `sigma`.
    pub fn rbf(sigma: f64) -> Self {
        Self::Rbf { scale: 2.0 * sigma * sigma }
    }

    /// The kernel of two values.
    pub fn of(&self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Self::Rbf { scale } => (-squared_distance(a, b) / scale).exp(),
            Self::Laplacian { scale } => (-squared_distance(a, b).sqrt() / scale).exp(),
            Self::LaplacianL1 { gamma } => {
                (-gamma * a.iter().zip(b).map(|(x, y)| (x - y).abs()).sum::<f64>()).exp()
            }
            Self::Linear { scale } => dot(a, b) / scale,
            Self::Cosine => {
                let lengths = dot(a, a).sqrt().max(COSINE_EPSILON) * dot(b, b).sqrt().max(COSINE_EPSILON);
                dot(a, b) / lengths
            }
            Self::Polynomial { gamma, offset, degree, scale } => {
                (gamma * dot(a, b) + offset).powi(i32::try_from(*degree).unwrap_or(i32::MAX)) / scale
            }
            Self::ExactMatch => f64::from(u8::from(a == b)),
            Self::Product { factors } => factors
                .iter()
                .map(|f| f.kernel.of(columns(a, f.start, f.end), columns(b, f.start, f.end)))
                .product(),
        }
    }

    /// The Gram matrix `K_ij = k(z_i, z_j)` of the rows of `z`, `[b, b]`.
    pub fn gram(&self, z: &Matrix) -> Matrix {
        let b = z.rows();
        let mut gram = Matrix::zeros(b, b);
        for i in 0..b {
            for j in 0..=i {
                let value = self.of(z.row(i), z.row(j));
                gram[(i, j)] = value;
                gram[(j, i)] = value;
            }
        }
        gram
    }

    /// Features `phi` of few columns with `K = phi phi^T`, for the kernels that have them: linear, cosine, and the
    /// polynomial without offset and of degree 1. `None` for the others, or where there would be as many columns
    /// as rows.
    pub fn features(&self, z: &Matrix) -> Option<Matrix> {
        let scaled = |factor: &dyn Fn(&[f64]) -> f64| {
            let mut features = z.clone();
            for i in 0..z.rows() {
                let factor = factor(z.row(i));
                features.row_mut(i).iter_mut().for_each(|v| *v *= factor);
            }
            features
        };
        let features = match self {
            Self::Linear { scale } if *scale > 0.0 => scaled(&|_| scale.sqrt().recip()),
            Self::Cosine => scaled(&|row| dot(row, row).sqrt().max(COSINE_EPSILON).recip()),
            Self::Polynomial { gamma, offset, degree, scale }
                if *offset == 0.0 && *gamma > 0.0 && *scale > 0.0 =>
            {
                let monomials = monomials(z, *degree)?;
                let factor = (gamma.powi(i32::try_from(*degree).ok()?) / scale).sqrt();
                Matrix::from_fn(monomials.rows(), monomials.columns(), |i, j| monomials[(i, j)] * factor)
            }
            _ => return None,
        };
        (features.columns() < z.rows()).then_some(features)
    }
}

/// Products of `degree` columns, each weighted by the square root of its multinomial coefficient, so that inner
/// products of these features are powers of inner products. `None` beyond 512 features.
fn monomials(z: &Matrix, degree: u32) -> Option<Matrix> {
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
        if next.len() > 512 {
            return None;
        }
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

/// The median of the pairwise Euclidean distances of the rows of `z`: a bandwidth `sigma` for data of any unit.
///
/// Beyond 1,000 rows every n-th row is used, so that at most about half a million distances are formed.
///
/// # Errors
/// [`Error::Degenerate`] if fewer than two rows differ.
pub fn median_distance(z: &Matrix) -> Result<f64> {
    let step = z.rows().div_ceil(1000).max(1);
    let rows: Vec<&[f64]> = z.iter_rows().step_by(step).collect();
    let mut distances: Vec<f64> = (rows.iter().enumerate())
        .flat_map(|(i, a)| rows[..i].iter().map(move |b| squared_distance(a, b)))
        .filter(|&d| d > 0.0)
        .collect();
    if distances.is_empty() {
        return Err(Error::Degenerate {
            reason: "all conditioning values are equal, so there is no median distance".into(),
            remedy: "give the bandwidth as a number".into(),
        });
    }
    let middle = distances.len() / 2;
    let (_, median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    Ok(median.sqrt())
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(crate) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

fn columns(row: &[f64], start: usize, end: usize) -> &[f64] {
    let end = end.min(row.len());
    &row[start.min(end)..end]
}

/// A kernel as it is written in a recipe or a case file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelConfig {
    /// `rbf`, `laplacian`, `laplacian-l1`, `linear`, `cosine`, `polynomial`, `exact-match`, `product`.
    pub name: String,
    /// Bandwidth as a standard deviation (rbf) or a distance (laplacian).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Bandwidth as released by CCL-K.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp_z: Option<f64>,
    /// Factor of the distance (laplacian-l1) or the inner product (polynomial).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Added to the inner product (polynomial).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<f64>,
    /// Exponent (polynomial), 3 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degree: Option<u32>,
    /// Factors (product).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<Vec<Factor>>,
    /// The kernel spelled out, for the reader; not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
}

const NAMES: [&str; 8] =
    ["rbf", "laplacian", "laplacian-l1", "linear", "cosine", "polynomial", "exact-match", "product"];

impl TryFrom<KernelConfig> for Kernel {
    type Error = Error;

    fn try_from(config: KernelConfig) -> Result<Self> {
        let bandwidth = |name: &str, value: Option<f64>| value.map(|v| positive(name, v)).transpose();
        let temp_z = bandwidth("kernel.temp_z", config.temp_z)?;
        let sigma = bandwidth("kernel.sigma", config.sigma)?;
        let gamma = bandwidth("kernel.gamma", config.gamma)?;
        let one_bandwidth = |of_sigma: fn(f64) -> f64| match (sigma, temp_z) {
            (Some(_), Some(_)) => Err(Error::parameter(
                "kernel.temp_z",
                "given beside sigma",
                "expected one bandwidth: sigma, or the released temp_z",
            )),
            (Some(sigma), None) => Ok(of_sigma(sigma)),
            (None, temp_z) => Ok(temp_z.unwrap_or(1.0)),
        };
        let kernel = match config.name.as_str() {
            "rbf" => Self::Rbf { scale: one_bandwidth(|s| 2.0 * s * s)? },
            "laplacian" => Self::Laplacian { scale: one_bandwidth(|s| s)? },
            "laplacian-l1" => Self::LaplacianL1 { gamma: gamma.unwrap_or(1.0) },
            "linear" => Self::Linear { scale: temp_z.unwrap_or(1.0) },
            "cosine" => Self::Cosine,
            "polynomial" => Self::Polynomial {
                gamma: gamma.unwrap_or(1.0),
                offset: config.offset.unwrap_or(0.0),
                degree: config.degree.unwrap_or(3),
                scale: temp_z.unwrap_or(1.0),
            },
            "exact-match" => Self::ExactMatch,
            "product" => Self::Product { factors: config.factors.unwrap_or_default() },
            name => return Err(Error::unknown("kernel", name, NAMES.into_iter())),
        };
        Ok(kernel)
    }
}

impl From<Kernel> for KernelConfig {
    fn from(kernel: Kernel) -> Self {
        let named = |name: &str| Self { name: name.into(), ..Self::default() };
        match kernel {
            Kernel::Rbf { scale } => Self { temp_z: Some(scale), ..named("rbf") },
            Kernel::Laplacian { scale } => Self { temp_z: Some(scale), ..named("laplacian") },
            Kernel::LaplacianL1 { gamma } => Self { gamma: Some(gamma), ..named("laplacian-l1") },
            Kernel::Linear { scale } => Self { temp_z: Some(scale), ..named("linear") },
            Kernel::Cosine => named("cosine"),
            Kernel::Polynomial { gamma, offset, degree, scale } => Self {
                gamma: Some(gamma),
                offset: Some(offset),
                degree: Some(degree),
                temp_z: Some(scale),
                ..named("polynomial")
            },
            Kernel::ExactMatch => named("exact-match"),
            Kernel::Product { factors } => Self { factors: Some(factors), ..named("product") },
        }
    }
}
