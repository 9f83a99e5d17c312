//! Kernels that separate all samples of a batch, or none, so that the condition decides nothing.

use super::{Kernel, median_distance};
use crate::numeric::matrix::Matrix;

/// A kernel whose off-diagonal row sums are below this separates all samples.
const FEWEST_ALIKE: f64 = 0.1;
/// A kernel whose off-diagonal mean is above this separates none.
const MOST_ALIKE: f64 = 0.95;

impl Kernel {
    /// The beginning of the warning about a kernel that separates all images.
    pub const ALL_APART: &str = "the kernel tells all images of the first batch apart";

    /// The warning about a kernel whose matrix of the first batch of a run is nearly the identity, or nearly constant. `z` are the
    /// values of `condition` in that batch.
    pub fn warning_of_first_batch(&self, condition: &str, z: &Matrix) -> Option<String> {
        let (gram, others) = (self.gram(z), z.rows().saturating_sub(1));
        if others == 0 {
            return None;
        }
        let own: Vec<f64> = (0..z.rows()).map(|i| gram[(i, i)].abs().sqrt().max(f64::MIN_POSITIVE)).collect();
        let alike = |i: usize, j: usize| gram[(i, j)] / (own[i] * own[j]);
        let of_row = |i: usize| (0..z.rows()).filter(|&j| j != i).map(|j| alike(i, j)).sum::<f64>();
        let sums: Vec<f64> = (0..z.rows()).map(of_row).collect();
        let count = z.rows() as f64;
        let sum = sums.iter().map(|sum| sum.abs()).sum::<f64>() / count;
        let mean = sums.iter().sum::<f64>() / (count * others as f64);
        if sum < FEWEST_ALIKE {
            return Some(format!(
                "{} by `{condition}`: the row of an image in K sums up to {sum:.2e} over the {others} others, so that it \
                 weighs its nearest alone, if any; take a wider one, such as {}",
                Self::ALL_APART,
                self.rule(z)
            ));
        }
        (mean > MOST_ALIKE).then(|| {
            format!(
                "the kernel makes all images of the first batch alike in `{condition}`: K is {mean:.4} on average off its \
                 diagonal, so `{condition}` decides nothing; take a narrower one, such as {}",
                self.rule(z)
            )
        })
    }

    /// The setting that suits data of any unit, with its bandwidth for the rows of `z`.
    fn rule(&self, z: &Matrix) -> String {
        let key = match self {
            Self::Rbf { .. } | Self::Laplacian { .. } | Self::MedianRbf | Self::MedianLaplacian => {
                "kernel.sigma = \"median\""
            }
            _ => "kernel = { name = \"rbf\", sigma = \"median\" }",
        };
        match median_distance(z) {
            Ok(median) => format!("{key}, which is {median:.4} here"),
            Err(_) => key.to_owned(),
        }
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
        assert!(apart.starts_with(Kernel::ALL_APART) && apart.contains("`colour`"), "{apart}");
        assert!(apart.contains("kernel = { name = \"rbf\", sigma = \"median\" }, which is"), "{apart}");
        assert!(warning(Kernel::rbf(1e-3)).unwrap().contains("take a wider one, such as kernel.sigma"));
        assert!(warning(Kernel::rbf(1e4)).unwrap().contains("take a narrower one"));
        assert_eq!(warning(Kernel::MedianRbf), None);
        assert_eq!(Kernel::ExactMatch.warning_of_first_batch("colour", &Matrix::zeros(1, 1)), None);
    }
}
