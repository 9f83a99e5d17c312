//! Synthetic binary attributes, which encode the class or another attribute, as a stand-in for attributes of pictures.
//!
//! Each value of the variable has a code of `count` bits that are drawn with even odds; an image has the code of its value, in
//! which each bit is flipped with probability `noise`. With few attributes, images with equal attributes form large groups; with
//! many, almost every group is a single image. Grouping by equality then has no positives, a kernel on the attributes still does.

use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::data::{DatasetError, Result};
use crate::numeric::matrix::Matrix;

/// The generation of attributes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyntheticAttributes {
    /// Bits of a code.
    pub count: usize,
    /// Probability that a bit of an image is flipped, 0 to 0.5.
    pub noise: f64,
    /// Seed of the codes: the same for every split of a data set.
    pub code_seed: u64,
}

impl SyntheticAttributes {
    /// The attributes of `n` images with these values of a variable, `[n, count]` of 0 and 1. `seed` draws the flipped bits.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] if there are no bits or the noise is out of its range.
    pub fn generate(&self, values: &[usize], seed: u64) -> Result<Matrix> {
        if self.count == 0 {
            return Err(DatasetError::parameter("attributes", 0, "expected at least 1"));
        }
        if !(0.0..=0.5).contains(&self.noise) {
            return Err(DatasetError::parameter("noise", self.noise, "expected 0 to 0.5"));
        }
        let kinds = values.iter().max().map_or(0, |value| value + 1);
        let mut rng = ChaCha8Rng::seed_from_u64(self.code_seed);
        let codes: Vec<bool> = (0..kinds * self.count).map(|_| rng.random()).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut bit = |value: usize, at: usize| {
            let is_flipped = rng.random::<f64>() < self.noise;
            f64::from(u8::from(codes.get(value * self.count + at).is_some_and(|&bit| bit != is_flipped)))
        };
        Ok(Matrix::from_fn(values.len(), self.count, |i, at| {
            bit(values.get(i).copied().unwrap_or_default(), at)
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::eval::cluster::attribute::attribute_clusters;

    const SYNTHETIC: SyntheticAttributes = SyntheticAttributes { count: 24, noise: 0.1, code_seed: 3 };

    fn values() -> Vec<usize> {
        (0..4000).map(|i| i * 7 % 10).collect()
    }

    #[test]
    fn a_tenth_of_the_bits_is_flipped_and_splits_share_their_codes() {
        let exact = SyntheticAttributes { noise: 0.0, ..SYNTHETIC }.generate(&values(), 1).unwrap();
        for seed in [1, 2] {
            let attributes = SYNTHETIC.generate(&values(), seed).unwrap();
            let flipped = attributes.data().iter().zip(exact.data()).filter(|(a, b)| a != b).count();
            let share = flipped as f64 / attributes.data().len() as f64;
            assert!((share - 0.1).abs() < 0.005, "{share}");
        }
    }

    #[test]
    fn more_attributes_make_smaller_clusters() {
        let table = SYNTHETIC.generate(&values(), 1).unwrap();
        let sizes: Vec<usize> =
            [3, 6, 12, 24].map(|k| 4000 / attribute_clusters(&table, k).unwrap().count).to_vec();
        assert!(sizes.is_sorted_by(|a, b| a > b) && sizes[0] >= 500 && sizes[3] <= 2, "{sizes:?}");
    }

    #[test]
    fn what_makes_no_table_is_an_error() {
        assert!(SyntheticAttributes { count: 0, ..SYNTHETIC }.generate(&[0], 0).is_err());
        assert!(SyntheticAttributes { noise: 0.6, ..SYNTHETIC }.generate(&[0], 0).is_err());
        assert_eq!(SYNTHETIC.generate(&[], 0).unwrap().rows(), 0);
    }
}
