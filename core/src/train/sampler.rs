//! Which samples a step sees, and which random numbers it draws. Both follow from the seed and the number of the step
//! alone, so a run can stop anywhere and go on as if it had not.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};

/// Turns the seed of a run into that of its test images, where they are drawn: no training image is among them.
pub const TEST_SEED: u64 = 1 << 63;

/// What random numbers are for. Each purpose has streams of its own, so that drawing more for one does not change
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The first values of a network.
    Initialisation = 0,
    /// The order of samples in an epoch.
    Order = 1,
    /// The views of a step.
    Augmentation = 2,
    /// Whatever an objective draws, such as the first centres of k-means.
    Objective = 3,
}

/// The generator for a purpose in step or epoch `index`.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((index << 2) | purpose as u64);
    rng
}

/// Settings of a [`Sampler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Number of samples in the data set.
    pub samples: usize,
    /// Number of samples in a batch.
    pub batch: usize,
    /// Whether the rest of an epoch that does not fill a batch is left out.
    pub drop_last: bool,
    /// Seed of the order.
    pub seed: u64,
}

/// Shuffled batches, epoch after epoch.
#[derive(Debug, Clone)]
pub struct Sampler {
    sampling: Sampling,
    epoch: Option<u64>,
    order: Vec<usize>,
}

impl Sampler {
    /// Batches of a data set.
    ///
    /// # Errors
    /// An empty data set, an empty batch, or a batch larger than the data set with `drop_last`.
    pub fn new(sampling: Sampling) -> Result<Self> {
        let Sampling { samples, batch, drop_last, .. } = sampling;
        if samples == 0 {
            return Err(Error::Degenerate {
                reason: "the data set is empty".into(),
                remedy: "check its path".into(),
            });
        }
        if batch == 0 || (drop_last && batch > samples) {
            let range = format!("expected 1 to {samples}, the number of samples");
            return Err(Error::parameter("batch_size", batch, &range));
        }
        Ok(Self { sampling, epoch: None, order: vec![] })
    }

    /// Number of batches in an epoch.
    pub fn batches_per_epoch(&self) -> u64 {
        let Sampling { samples, batch, drop_last, .. } = self.sampling;
        (if drop_last { samples / batch } else { samples.div_ceil(batch) }) as u64
    }

    /// The samples of step `step`, which counts from 0 over all epochs.
    pub fn batch(&mut self, step: u64) -> &[usize] {
        let (epoch, position) = (step / self.batches_per_epoch(), step % self.batches_per_epoch());
        if self.epoch != Some(epoch) {
            self.order = (0..self.sampling.samples).collect();
            self.order.shuffle(&mut stream(self.sampling.seed, Purpose::Order, epoch));
            self.epoch = Some(epoch);
        }
        let start = position as usize * self.sampling.batch;
        let end = (start + self.sampling.batch).min(self.order.len());
        self.order.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use rand::Rng;

    use super::*;

    fn sampler(samples: usize, batch: usize, drop_last: bool) -> Sampler {
        Sampler::new(Sampling { samples, batch, drop_last, seed: 5 }).unwrap()
    }

    #[test]
    fn an_epoch_sees_every_sample_once_in_an_order_of_its_own() {
        let mut sampler = sampler(10, 4, false);
        assert_eq!(sampler.batches_per_epoch(), 3);
        let epoch = |sampler: &mut Sampler, epoch: u64| {
            (3 * epoch..3 * epoch + 3).flat_map(|step| sampler.batch(step).to_vec()).collect::<Vec<_>>()
        };
        let (first, second) = (epoch(&mut sampler, 0), epoch(&mut sampler, 1));
        assert_ne!(first, second);
        for mut order in [first, second] {
            order.sort_unstable();
            assert_eq!(order, (0..10).collect::<Vec<_>>());
        }
        assert_eq!(sampler.batch(2).len(), 2);
    }

    #[test]
    fn drop_last_leaves_out_the_rest() {
        let mut sampler = sampler(10, 4, true);
        assert_eq!(sampler.batches_per_epoch(), 2);
        assert!((0..8).all(|step| sampler.batch(step).len() == 4));
    }

    #[test]
    fn a_batch_does_not_depend_on_the_batches_before_it() {
        let (mut walked, mut jumped) = (sampler(23, 5, false), sampler(23, 5, false));
        let walked: Vec<Vec<usize>> = (0..14).map(|step| walked.batch(step).to_vec()).collect();
        assert_eq!(walked[13], jumped.batch(13));
        assert_eq!(walked[2], jumped.batch(2));
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let first = |seed, purpose, index| stream(seed, purpose, index).next_u64();
        let all = [
            first(1, Purpose::Augmentation, 0),
            first(1, Purpose::Augmentation, 1),
            first(1, Purpose::Order, 0),
            first(2, Purpose::Augmentation, 0),
        ];
        assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
        assert_eq!(all[0], first(1, Purpose::Augmentation, 0));
    }

    #[test]
    fn what_cannot_be_sampled_is_an_error() {
        let new = |samples, batch, drop_last| Sampler::new(Sampling { samples, batch, drop_last, seed: 0 });
        assert!(new(0, 4, false).unwrap_err().to_string().contains("empty"));
        assert!(new(3, 0, false).unwrap_err().to_string().contains("batch_size"));
        assert!(new(3, 4, true).unwrap_err().to_string().contains("batch_size"));
        assert!(new(3, 4, false).is_ok());
    }
}
