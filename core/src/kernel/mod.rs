//! Kernels of the conditioning variable, and their Gram matrices, on the host in `f64`.
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

pub mod conditional;
mod config;
mod extremes;
mod features;
mod low_rank;
mod values;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, shown};
use crate::numeric::matrix::Matrix;
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::vectors::{dot, squared_distance};

pub use config::{Bandwidth, BandwidthRule, KERNELS, KernelConfig, NamedKernel};
pub use extremes::{NoEffect, Remedy, Undecided};
pub use low_rank::{Approximation, LowRank};

/// A kernel with a numeric bandwidth.
pub type KernelFunction = Box<dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync>;

/// Rows shorter than this have cosine 0 with every row, as in released CCL-K (`eps`).
const COSINE_EPSILON: f64 = 1e-8;

/// A kernel value below this adds nothing to the weights of a pair beside those of 1, for any ridge.
const ALIKE: f64 = 1e-12;

/// The kernel that a warning advises, as documents of `simile loss`, programs of a page and Python write it.
const BY_MEDIAN: &str = r#"{ "name": "rbf", "sigma": "median" }"#;

/// Most rows whose distances give a median.
const MEDIAN_ROWS: usize = 1000;
/// The fractional part of the golden ratio, whose multiples fill the unit interval most evenly.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

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
    /// `<z,z'> / (|z| |z'|)`.
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
    /// The RBF kernel of standard deviation `sigma`.
    pub fn rbf(sigma: f64) -> Self {
        Self::Rbf { scale: 2.0 * sigma * sigma }
    }

    /// The kernel as a function of two rows. A bandwidth given as a rule is computed from the rows of `z`; if these
    /// are all equal, any bandwidth gives the same result, and it is 1.
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

    /// The Gram matrix `K_ij = k(z_i, z_j)` of the rows of `z`, `[b, b]`.
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

    /// A warning if `z` decides nothing: all its rows are equal, or alike because the cosine of two numbers of one sign is 1; or no
    /// two of them have anything in common, as with a bandwidth that is too small for them, where `W` is the identity. A loss of
    /// shares divides the weights of other samples by their sum, so that they count as long as they are numbers above 0.
    pub fn warning(&self, z: &Matrix, of_shares: bool) -> Option<NoEffect> {
        if z.rows() < 2 {
            return None;
        }
        if (1..z.rows()).all(|row| z.row(row) == z.row(0)) {
            let text = "all samples have one value of it, so there is nothing to condition on".to_owned();
            return Some(NoEffect { text, median: None });
        }
        let raise =
            |bandwidth: &str, value: f64| format!("raise {bandwidth}, which is {}, towards", rounded(value));
        let remedy = match self {
            Self::Rbf { scale } => raise("kernel.sigma", (scale / 2.0).sqrt()),
            Self::Laplacian { scale } => raise("kernel.sigma", *scale),
            Self::LaplacianL1 { gamma } => raise("1 / kernel.gamma", 1.0 / gamma),
            Self::ExactMatch => {
                format!(
                    "no two samples have the same value of it; take the kernel {BY_MEDIAN}, whose sigma is"
                )
            }
            Self::Product { factors } if self.has_unit_diagonal() => remedy_of_factors(factors),
            Self::Cosine if is_column_of_one_sign(z) => {
                let text = "under the kernel `cosine` numbers of one sign are all alike, so the condition has no effect; take \
                            `rbf` for numbers, or `exact-match` for categories";
                return Some(NoEffect { text: text.to_owned(), median: None });
            }
            _ => return None,
        };
        let kernel = self.function(z);
        let least = if of_shares { 0.0 } else { ALIKE };
        let mut pairs = (0..z.rows()).flat_map(|i| (0..i).map(move |j| (i, j)));
        if pairs.any(|(i, j)| kernel(z.row(i), z.row(j)) > least) {
            return None;
        }
        let (remedy, median) = match self {
            Self::Product { .. } => (remedy, None),
            _ => (format!("{remedy} the samples' median distance"), Some(median_distance(z).ok()?)),
        };
        let text = format!(
            "every kernel value between two samples is about 0, so the condition has no effect; {remedy}"
        );
        Some(NoEffect { text, median })
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
                let reason = format!("but the conditioning variable has {columns} columns");
                return Err(Error::parameter("kernel.factors", value, &reason));
            }
            factor.kernel.fits_columns(factor.end - factor.start)?;
        }
        Ok(())
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

/// True for one number for each sample, all above 0 or all below it: any two have the cosine 1.
fn is_column_of_one_sign(z: &Matrix) -> bool {
    let have = |is: fn(&f64) -> bool| z.data().iter().all(is);
    z.columns() == 1 && (have(|value| *value >= COSINE_EPSILON) || have(|value| *value <= -COSINE_EPSILON))
}

/// The remedy for a product of kernels under which no two samples are alike.
fn remedy_of_factors(factors: &[Factor]) -> String {
    let has = |is: fn(&Kernel) -> bool| factors.iter().any(|factor| is(&factor.kernel));
    let has_width = has(|kernel| {
        matches!(kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::LaplacianL1 { .. })
    });
    let widen = "widen some, each towards the median distance of the samples in its columns";
    let replace = format!("take the kernel {BY_MEDIAN} in place of an exact match");
    let remedy = match (has_width, has(|kernel| *kernel == Kernel::ExactMatch)) {
        (true, true) => format!("{widen}, or {replace}"),
        (true, false) => widen.to_owned(),
        (false, true) => replace,
        (false, false) => "leave some out".to_owned(),
    };
    format!("no two samples are alike in all of kernel.factors; {remedy}")
}

/// The rows whose distances give the median: all of `rows`, or one of each of 1,000 equal parts, at a place in it that multiples of
/// the golden ratio spread evenly. If every n-th row were taken, and rows alternated between two groups, all could be of one group.
/// The PyTorch of the objectives takes the same rows.
fn median_rows(rows: usize) -> Vec<usize> {
    if rows <= MEDIAN_ROWS {
        return (0..rows).collect();
    }
    let start = |part: usize| part * rows / MEDIAN_ROWS;
    let within = |part: usize| (part as f64 * GOLDEN_RATIO).fract() * (start(part + 1) - start(part)) as f64;
    (0..MEDIAN_ROWS).map(|part| start(part) + within(part) as usize).collect()
}

/// The median of the pairwise Euclidean distances of the rows of `z`, without those of equal rows; of an even number the upper one
/// of the two in the middle. A bandwidth `sigma` for data of any unit.
///
/// Beyond 1,000 rows it is that of 1,000 of them, so that at most half a million distances are formed.
///
/// # Errors
/// [`Error::Degenerate`] if fewer than two rows differ.
pub fn median_distance(z: &Matrix) -> Result<f64> {
    let rows: Vec<&[f64]> = median_rows(z.rows()).into_iter().map(|row| z.row(row)).collect();
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

/// A number with a few digits.
fn rounded(value: f64) -> String {
    shown(format!("{value:.4e}").parse().unwrap_or(value))
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
        assert!(kernel(r#"{"name": "product"}"#).unwrap_err().contains("factors"));
        let backwards =
            r#"{"name": "product", "factors": [{"start": 2, "end": 2, "kernel": {"name": "cosine"}}]}"#;
        assert!(kernel(backwards).unwrap_err().contains("factors"));
    }

    #[test]
    fn the_median_of_many_rows_sees_groups_that_come_in_turn() {
        let in_turn = Matrix::from_fn(1200, 1, |i, _| 100.0 * (i % 2) as f64);
        assert_eq!(median_distance(&in_turn).unwrap(), 100.0);
        let rows = median_rows(4096);
        assert_eq!(rows.len(), MEDIAN_ROWS);
        assert!(rows.is_sorted_by(|a, b| a < b) && *rows.last().unwrap() < 4096);
        let odd = rows.iter().filter(|row| *row % 2 == 1).count();
        assert!((450..550).contains(&odd), "{odd}");
    }

    /* Equivalent Python: `median_rows` of loss/cclk/operator.py */
    #[test]
    fn the_pytorch_of_the_objectives_takes_the_same_rows() {
        let rows = median_rows(4096);
        assert_eq!(rows[..8], [0, 6, 8, 15, 17, 20, 26, 29]);
        assert_eq!(rows.iter().sum::<usize>(), 2_047_004);
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
    fn a_kernel_under_which_no_two_samples_are_alike_warns_with_its_remedy() {
        let z = Matrix::from_fn(3, 2, |i, _| [10.0, 120.0, 250.0][i]);
        let warning = |kernel: &Kernel| kernel.warning(&z, true);
        let factor = |start: usize, kernel| Factor { start, end: start + 1, kernel };
        let product =
            |kernel| Kernel::Product { factors: vec![factor(0, Kernel::MedianRbf), factor(1, kernel)] };
        for (kernel, remedy) in [
            (Kernel::rbf(1.0), "raise kernel.sigma, which is 1, towards the samples' median distance, "),
            (
                Kernel::ExactMatch,
                r#"take the kernel { "name": "rbf", "sigma": "median" }, whose sigma is the samples' median distance, "#,
            ),
        ] {
            let warning = warning(&kernel).unwrap().to_string();
            assert!(warning.starts_with("every kernel value") && warning.contains(remedy), "{warning}");
        }
        for kernel in [Kernel::MedianRbf, Kernel::Cosine, product(Kernel::MedianLaplacian)] {
            assert_eq!(warning(&kernel), None, "{kernel:?}");
        }
        let two_equal = Matrix::from_fn(3, 2, |i, _| (i / 2) as f64);
        assert_eq!(Kernel::ExactMatch.warning(&two_equal, false), None);
    }

    #[test]
    fn a_condition_with_one_value_warns_under_any_kernel() {
        for kernel in [Kernel::ExactMatch, Kernel::MedianRbf, Kernel::Cosine, Kernel::Linear { scale: 1.0 }] {
            let warning = |rows: usize| kernel.warning(&Matrix::from_fn(rows, 2, |_, _| 0.5), false);
            let warned = warning(3).unwrap().to_string();
            assert!(warned.starts_with("all samples have one value"), "{kernel:?}: {warned}");
            assert_eq!(warning(1), None, "{kernel:?}: one sample has nothing to compare");
        }
    }

    #[test]
    fn numbers_of_one_sign_warn_under_the_cosine() {
        let warning = |kernel: &Kernel, z: [f64; 3], columns: usize| {
            kernel.warning(&Matrix::from_fn(3, columns, |i, j| z[i] + j as f64), true)
        };
        for z in [[20.0, 40.0, 60.0], [-1.0, -2.0, -3.0]] {
            let warned = warning(&Kernel::Cosine, z, 1).unwrap().to_string();
            assert!(warned.contains("numbers of one sign are all alike"), "{warned}");
            assert!(warned.contains("take `rbf`") && warned.contains("`exact-match`"), "{warned}");
            assert_eq!(warning(&Kernel::Linear { scale: 1.0 }, z, 1), None, "{z:?}");
            assert_eq!(warning(&Kernel::Cosine, z, 2), None, "{z:?}");
        }
        // The cosine of 0 with every number is 0.
        for z in [[-1.0, 2.0, 3.0], [0.0, 1.0, 2.0]] {
            assert_eq!(warning(&Kernel::Cosine, z, 1), None, "{z:?}");
        }
    }

    #[test]
    fn the_remedy_for_a_product_is_one_that_its_factors_can_take() {
        let z = Matrix::from_fn(3, 2, |i, _| [10.0, 120.0, 250.0][i]);
        let factor = |start: usize, kernel| Factor { start, end: start + 1, kernel };
        let of_two = |first, second| vec![factor(0, first), factor(1, second)];
        let (narrow, exact) = (|| Kernel::rbf(1.0), Kernel::ExactMatch);
        let widen = "widen some, each towards the median distance of the samples in its columns";
        let replace = r#"take the kernel { "name": "rbf", "sigma": "median" } in place of an exact match"#;
        for (factors, remedy) in [
            (of_two(narrow(), narrow()), widen.to_owned()),
            (of_two(exact.clone(), exact.clone()), replace.to_owned()),
            (of_two(Kernel::MedianRbf, exact.clone()), replace.to_owned()),
            (of_two(narrow(), exact), format!("{widen}, or {replace}")),
            (vec![factor(0, Kernel::MedianRbf); 100], "leave some out".to_owned()),
        ] {
            let warning = Kernel::Product { factors }.warning(&z, false).unwrap().to_string();
            assert!(warning.ends_with(&format!("all of kernel.factors; {remedy}")), "{warning}");
        }
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
}
