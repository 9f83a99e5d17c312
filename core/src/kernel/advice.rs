//! Whether a condition has an effect on a loss under a kernel, and what helps if it has none.

use std::fmt;

use super::median::{differ_equally, median_distance};
use super::{COSINE_EPSILON, Factor, Kernel};
use crate::error::shown;
use crate::numeric::matrix::Matrix;

/// A kernel value below this adds nothing to the weights of a pair beside those of 1, for any ridge.
const ALIKE: f64 = 1e-12;

/// The kernel that a warning advises, as documents of `simile loss`, programs of a page and Python write it.
const BY_MEDIAN: &str = r#"{ "name": "rbf", "sigma": "median" }"#;

/// The remedy where a kernel of any width has one value for all samples that differ.
const LIKE_SAMPLES: &str =
    "those that differ are equally far apart; take samples that share values, or another condition";

/// Why a condition decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Degeneracy {
    /// All samples have one value of it.
    OneValue,
    /// Its values are numbers of one sign, which are all alike under the kernel `cosine`.
    OneSign,
    /// No two samples, or almost none, are alike under the kernel.
    AllApart,
    /// All samples, or almost all, are alike under the kernel.
    AllAlike,
}

/// A condition that has no effect on a loss, and what helps.
#[derive(Debug, Clone, PartialEq)]
pub struct NoEffect {
    /// Why it has none; never [`AllAlike`](Degeneracy::AllAlike).
    pub degeneracy: Degeneracy,
    /// Both in words, without a number of the samples: it is the same for each batch of a loop.
    pub text: String,
    /// The median distance of the samples, if the text ends with it.
    pub median: Option<f64>,
}

impl fmt::Display for NoEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.median.map_or(Ok(()), |median| write!(f, ", {}", rounded(median)))
    }
}

impl Kernel {
    /// A warning if `z` decides nothing: all its rows are equal, or alike because the cosine of two numbers of one sign is 1; or no
    /// two of them have anything in common, as with a bandwidth that is too small for them, where `W` is the identity.
    pub fn warning(&self, z: &Matrix) -> Option<NoEffect> {
        self.no_effect(z, ALIKE)
    }

    /// As [`warning`](Self::warning), for a loss that normalises the weights of the other samples: any kernel value above 0 has an effect
    /// there.
    pub fn warning_if_normalised(&self, z: &Matrix) -> Option<NoEffect> {
        self.no_effect(z, 0.0)
    }

    /// The warning where kernel values above `least` have an effect.
    fn no_effect(&self, z: &Matrix, least: f64) -> Option<NoEffect> {
        if z.rows() < 2 {
            return None;
        }
        if (1..z.rows()).all(|row| z.row(row) == z.row(0)) {
            let text = "all samples have one value of it, so there is nothing to condition on".to_owned();
            return Some(NoEffect { degeneracy: Degeneracy::OneValue, text, median: None });
        }
        if *self == Self::Cosine && is_column_of_one_sign(z) {
            let text = "under the kernel `cosine` numbers of one sign are all alike, so the condition has no effect; take \
                        `rbf` for numbers, or `exact-match` for categories";
            return Some(NoEffect { degeneracy: Degeneracy::OneSign, text: text.to_owned(), median: None });
        }
        let remedy = self.remedy()?;
        let kernel = self.function(z);
        let mut pairs = (0..z.rows()).flat_map(|i| (0..i).map(move |j| (i, j)));
        if pairs.any(|(i, j)| kernel(z.row(i), z.row(j)) > least) {
            return None;
        }
        let (remedy, median) = match self {
            Self::Product { .. } => (remedy, None),
            // Two samples have a single distance, which says nothing of others that a program may have.
            _ if z.rows() > 2 && differ_equally(z) => (LIKE_SAMPLES.to_owned(), None),
            _ => (format!("{remedy} the samples' median distance"), Some(median_distance(z).ok()?)),
        };
        let text = format!(
            "every kernel value between two samples is about 0, so the condition has no effect; {remedy}"
        );
        Some(NoEffect { degeneracy: Degeneracy::AllApart, text, median })
    }

    /// The remedy where every kernel value is about 0, without the median distance with which it may end; `None` if the kernel has none.
    fn remedy(&self) -> Option<String> {
        let raise =
            |bandwidth: &str, value: f64| format!("raise {bandwidth}, which is {}, towards", rounded(value));
        Some(match self {
            Self::Rbf { scale } => raise("kernel.sigma", (scale / 2.0).sqrt()),
            Self::Laplacian { scale } => raise("kernel.sigma", *scale),
            Self::LaplacianL1 { gamma } => raise("1 / kernel.gamma", 1.0 / gamma),
            Self::ExactMatch => {
                format!(
                    "no two samples have the same value of it; take the kernel {BY_MEDIAN}, whose sigma is"
                )
            }
            Self::Product { factors } if self.has_unit_diagonal() => remedy_of_factors(factors),
            _ => return None,
        })
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

/// A number with a few digits.
fn rounded(value: f64) -> String {
    shown(format!("{value:.4e}").parse().unwrap_or(value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_under_which_no_two_samples_are_alike_warns_with_its_remedy() {
        let z = Matrix::from_fn(3, 2, |i, _| [10.0, 120.0, 250.0][i]);
        let warning = |kernel: &Kernel| kernel.warning_if_normalised(&z);
        let factor = |start: usize, kernel| Factor { start, end: start + 1, kernel };
        let product =
            |kernel| Kernel::Product { factors: vec![factor(0, Kernel::MedianRbf), factor(1, kernel)] };
        assert_eq!(warning(&Kernel::ExactMatch).unwrap().degeneracy, Degeneracy::AllApart);
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
        assert_eq!(Kernel::ExactMatch.warning(&two_equal), None);
    }

    /// A kernel with their median distance, which was advised, has the value exp(-1/2) for any two that differ.
    #[test]
    fn no_width_is_advised_for_categories_that_no_two_samples_share() {
        let one_hot = |rows: usize| Matrix::from_fn(rows, rows, |i, j| f64::from(u8::from(i == j)));
        for kernel in [Kernel::ExactMatch, Kernel::rbf(0.1), Kernel::Laplacian { scale: 0.01 }] {
            let warned = kernel.warning(&one_hot(3)).unwrap();
            assert_eq!((warned.degeneracy, warned.median), (Degeneracy::AllApart, None));
            let warned = warned.to_string();
            assert!(warned.ends_with("take samples that share values, or another condition"), "{warned}");
            assert!(!warned.contains("sigma"), "{warned}");
            let of_two = kernel.warning(&one_hot(2)).unwrap();
            assert_eq!(of_two.median, Some(2.0_f64.sqrt()), "{of_two}");
        }
    }

    #[test]
    fn a_condition_with_one_value_warns_under_any_kernel() {
        for kernel in [Kernel::ExactMatch, Kernel::MedianRbf, Kernel::Cosine, Kernel::Linear { scale: 1.0 }] {
            let warning = |rows: usize| kernel.warning(&Matrix::from_fn(rows, 2, |_, _| 0.5));
            let warned = warning(3).unwrap();
            assert_eq!(warned.degeneracy, Degeneracy::OneValue);
            let warned = warned.to_string();
            assert!(warned.starts_with("all samples have one value"), "{kernel:?}: {warned}");
            assert_eq!(warning(1), None, "{kernel:?}: one sample has nothing to compare");
        }
    }

    #[test]
    fn numbers_of_one_sign_warn_under_the_cosine() {
        let warning = |kernel: &Kernel, z: [f64; 3], columns: usize| {
            kernel.warning_if_normalised(&Matrix::from_fn(3, columns, |i, j| z[i] + j as f64))
        };
        for z in [[20.0, 40.0, 60.0], [-1.0, -2.0, -3.0]] {
            let warned = warning(&Kernel::Cosine, z, 1).unwrap();
            assert_eq!(warned.degeneracy, Degeneracy::OneSign);
            let warned = warned.to_string();
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
            let warning = Kernel::Product { factors }.warning(&z).unwrap().to_string();
            assert!(warning.ends_with(&format!("all of kernel.factors; {remedy}")), "{warning}");
        }
    }
}
