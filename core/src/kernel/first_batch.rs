//! Kernels that separate all samples of the first batch of a run, or none, so that the condition decides nothing. The module
//! [`advice`](super::advice) finds a condition without any effect on given samples; this one also finds kernels by which nearly none or
//! nearly all of them are alike.

use super::Kernel;
use super::advice::Degeneracy;
use super::median::{MEDIAN_ROWS, differ_equally, median_distance};
use crate::numeric::matrix::Matrix;

/// A kernel whose off-diagonal row sums are below this on average separates all samples.
const FEWEST_ALIKE: f64 = 0.1;
/// A kernel whose off-diagonal mean is above this separates none.
const MOST_ALIKE: f64 = 0.95;

/// A condition that decides nothing in the first batch of a run. The settings of a remedy have other names in a recipe than in
/// a program, so that each caller writes its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Undecided {
    /// Why it decides nothing.
    pub degeneracy: Degeneracy,
    /// The state of the condition, in words.
    pub fact: String,
    /// Its remedy.
    pub remedy: Remedy,
}

/// A change that lets a kernel tell some samples apart, and not all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Remedy {
    /// A wider kernel, such as one whose bandwidth is the median distance of the samples, which is given.
    Wider(f64),
    /// A narrower kernel, such as one whose bandwidth is the median distance of the samples, which is given.
    Narrower(f64),
    /// Another condition: most samples have one value of this one. Where all have one, larger batches may have several.
    OtherCondition,
    /// Batches with more samples of one value, or a condition whose values more samples share: those that differ are equally far
    /// apart, so a kernel of any width has the same value for all of them.
    LikeImages,
}

impl Kernel {
    /// The beginning of the warning about a kernel that separates all images, where a wider one would separate fewer.
    const ALL_APART: &str = "the kernel tells all images of the first batch apart";

    /// The beginning of the warning about a kernel that separates all images, where no other width helps.
    const EQUALLY_APART: &str = "the images of the first batch that differ are equally far apart";

    /// Most samples of a batch to compare for the warning: those that a median distance is taken from.
    pub const MOST_COMPARED: usize = MEDIAN_ROWS;

    /// The warning about a kernel whose matrix of the first batch of a run is nearly the identity, or nearly constant. `z` are the
    /// values of `condition` in that batch, of the first [`MOST_COMPARED`](Self::MOST_COMPARED) images in a larger one.
    pub fn warning_of_first_batch(&self, condition: &str, z: &Matrix) -> Option<Undecided> {
        if z.rows() < 2 {
            return None;
        }
        let images = format!("the first {} images of the first batch", z.rows());
        let Ok(median) = median_distance(z) else {
            let fact = format!(
                "{images} have one value of `{condition}`, so there is nothing to condition on in that batch"
            );
            return Some(Undecided {
                degeneracy: Degeneracy::OneValue,
                fact,
                remedy: Remedy::OtherCondition,
            });
        };
        let (sum, mean) = self.off_diagonal(z);
        if sum < FEWEST_ALIKE {
            let (beginning, remedy) = match differ_equally(z) {
                // Of two images too: in a run of batches of two, larger ones help, and a wider kernel does not.
                true => (Self::EQUALLY_APART, Remedy::LikeImages),
                false => (Self::ALL_APART, Remedy::Wider(median)),
            };
            let fact = format!(
                "{beginning} by `{condition}`: among the first {} images, the kernel values of an image with all others sum to \
                 {sum:.2e} on average, so at most its nearest neighbour has any weight",
                z.rows()
            );
            return Some(Undecided { degeneracy: Degeneracy::AllApart, fact, remedy });
        }
        (mean > MOST_ALIKE).then(|| {
            let fact = format!(
                "the kernel makes {images} alike in `{condition}`: K is {mean:.4} on average off its diagonal, so \
                 `{condition}` decides nothing"
            );
            let is_uneven = Self::MedianRbf.off_diagonal(z).1 > MOST_ALIKE;
            let remedy = if is_uneven { Remedy::OtherCondition } else { Remedy::Narrower(median) };
            Undecided { degeneracy: Degeneracy::AllAlike, fact, remedy }
        })
    }

    /// Of the matrix of the rows of `z`, scaled to a diagonal of 1: the mean size of the sum of a row, and the mean of an entry,
    /// both off the diagonal.
    fn off_diagonal(&self, z: &Matrix) -> (f64, f64) {
        let (gram, count) = (self.gram(z), z.rows() as f64);
        let own: Vec<f64> = (0..z.rows()).map(|i| gram[(i, i)].abs().sqrt().max(f64::MIN_POSITIVE)).collect();
        let alike = |i: usize, j: usize| gram[(i, j)] / (own[i] * own[j]);
        let of_row = |i: usize| (0..z.rows()).filter(|&j| j != i).map(|j| alike(i, j)).sum::<f64>();
        let sums: Vec<f64> = (0..z.rows()).map(of_row).collect();
        let sum = sums.iter().map(|sum| sum.abs()).sum::<f64>() / count;
        (sum, sums.iter().sum::<f64>() / (count * (count - 1.0)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_separates_all_samples_or_none_is_named_with_a_remedy() {
        let z = Matrix::from_fn(8, 1, |i, _| 10.0 * i as f64);
        let warning = |kernel: Kernel| kernel.warning_of_first_batch("colour", &z);
        let apart = warning(Kernel::ExactMatch).unwrap();
        let begin = format!(
            "{} by `colour`: among the first 8 images, the kernel values of an image with all others sum to",
            Kernel::ALL_APART
        );
        assert!(apart.fact.starts_with(&begin), "{apart:?}");
        assert_eq!(apart.remedy, Remedy::Wider(median_distance(&z).unwrap()));
        assert_eq!(apart.degeneracy, Degeneracy::AllApart);
        assert!(matches!(warning(Kernel::rbf(1e-3)).unwrap().remedy, Remedy::Wider(_)));
        let alike = warning(Kernel::rbf(1e4)).unwrap();
        assert_eq!(alike.degeneracy, Degeneracy::AllAlike);
        assert!(matches!(alike.remedy, Remedy::Narrower(_)));
        assert_eq!(warning(Kernel::MedianRbf), None);
        assert_eq!(Kernel::ExactMatch.warning_of_first_batch("colour", &Matrix::zeros(1, 1)), None);
    }

    /// A kernel with their median distance has the value exp(-1/2) for any two that differ.
    #[test]
    fn no_wider_kernel_is_advised_for_categories_and_batches_of_two() {
        // Two of 32 samples have one value.
        let z = Matrix::from_fn(32, 31, |i, j| f64::from(u8::from(i.min(30) == j)));
        for kernel in [Kernel::ExactMatch, Kernel::rbf(0.1)] {
            let apart = kernel.warning_of_first_batch("patient", &z).unwrap();
            assert_eq!((apart.degeneracy, apart.remedy), (Degeneracy::AllApart, Remedy::LikeImages));
            let begin = format!("{} by `patient`: among the first 32 images", Kernel::EQUALLY_APART);
            assert!(apart.fact.starts_with(&begin), "{apart:?}");
        }
        let ages = Matrix::column(&[20.0, 61.0]);
        let of_two = Kernel::rbf(0.1).warning_of_first_batch("age", &ages).unwrap();
        assert_eq!(of_two.remedy, Remedy::LikeImages, "a batch of two has to be larger");
    }

    #[test]
    fn no_bandwidth_is_advised_where_most_samples_have_one_value() {
        let warning = |differing: usize| {
            let z = Matrix::from_fn(20, 1, |i, _| if i < differing { 1.0 + i as f64 } else { 0.0 });
            [Kernel::MedianRbf, Kernel::rbf(1e4), Kernel::ExactMatch]
                .map(|kernel| kernel.warning_of_first_batch("colour", &z))
        };
        for undecided in warning(0) {
            let Undecided { degeneracy, fact, remedy } = undecided.unwrap();
            assert_eq!(degeneracy, Degeneracy::OneValue);
            let counted =
                "the first 20 images of the first batch have one value of `colour`, so there is nothing";
            assert!(fact.starts_with(counted) && fact.ends_with("in that batch"), "{fact}");
            assert_eq!(remedy, Remedy::OtherCondition);
        }
        let [by_rule, wide, exact] = warning(1);
        assert_eq!(by_rule.unwrap().remedy, Remedy::OtherCondition);
        assert_eq!(wide.unwrap().remedy, Remedy::OtherCondition);
        assert_eq!(exact, None);
    }
}
