//! The samples of a step. They depend only on the seed and the number of the step, so a run can stop anywhere and resume
//! with identical results.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::numeric::random::{Purpose, stream};

/// XORed with the seed of a run, the seed of its generated test images, so that they differ from the training images.
pub const TEST_SEED: u64 = 1 << 63;

/// XORed with the seed of a run, the seed of the order of the images to classify, which are a separate batch.
pub const TO_CLASSIFY_SEED: u64 = 1 << 62;

/// Settings of a [`Sampler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Number of samples in the data set.
    pub samples: usize,
    /// Number of samples in a batch.
    pub batch: usize,
    /// True if the last, incomplete batch of an epoch is left out. One of a single sample always is, unless it is the whole epoch:
    /// an objective that compares samples has nothing to compare there, and a step on it would move the network all the same.
    pub drop_last: bool,
    /// Seed of the order.
    pub seed: u64,
}

impl Sampling {
    /// Number of batches in an epoch.
    pub fn batches_per_epoch(&self) -> u64 {
        let Self { samples, batch, drop_last, .. } = *self;
        let batch = batch.max(1);
        let (full, rest) = (samples / batch, samples % batch);
        let has_rest = !drop_last && (rest > 1 || rest == 1 && full == 0);
        (full + usize::from(has_rest)) as u64
    }
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
        self.sampling.batches_per_epoch()
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

/// Batches drawn with replacement, each sample with a probability proportional to its weight.
///
/// As PyTorch's `WeightedRandomSampler`, except that a batch depends only on the seed and its step.
#[derive(Debug, Clone)]
pub struct WeightedSampler {
    /// Cumulative sums of the weights.
    sums: Vec<f64>,
    batch: usize,
    seed: u64,
}

impl WeightedSampler {
    /// Batches of size `batch`, from as many samples as there are weights.
    ///
    /// # Errors
    /// An empty batch, or weights that are not finite, negative, or without a positive sum.
    pub fn new(weights: &[f64], batch: usize, seed: u64) -> Result<Self> {
        if batch == 0 {
            return Err(Error::parameter("batch_size", batch, "expected 1 or more"));
        }
        let sum = |total: &mut f64, weight: &f64| {
            *total += weight;
            Some(*total)
        };
        let sums: Vec<f64> = weights.iter().scan(0.0, sum).collect();
        let total = sums.last().copied().unwrap_or_default();
        if weights.iter().any(|weight| *weight < 0.0) || !(total > 0.0 && total.is_finite()) {
            return Err(Error::Degenerate {
                reason: "the weights of the samples are not frequencies".into(),
                remedy: "give each sample a finite weight of 0 or more, and at least one of them more than 0"
                    .into(),
            });
        }
        Ok(Self { sums, batch, seed })
    }

    /// The samples of step `step`.
    pub fn batch(&self, step: u64) -> Vec<usize> {
        let mut rng = stream(self.seed, Purpose::Order, step);
        let total = self.sums.last().copied().unwrap_or_default();
        let draw = |_| {
            let at = rng.random_range(0.0..total);
            self.sums.partition_point(|&sum| sum <= at)
        };
        (0..self.batch).map(draw).collect()
    }
}

/// The sampling weights of BiasCon (Hong and Yang, 2021): `1 / p(bias | label)`, at most `max_ratio` times the smallest of these
/// weights. `labels` and `bias` are the class and the value of the bias of each training sample. Probabilities are fractions of the
/// training set. As released `max_ratio` is 10 on BiasedMNIST and UTKFace, and on CelebA 30 for blond hair and 50 for make-up.
///
/// # Errors
/// The lists differ in length, or `max_ratio` is below 1.
pub fn bias_weights(labels: &[usize], bias: &[usize], max_ratio: f64) -> Result<Vec<f64>> {
    if labels.len() != bias.len() {
        let expected = format!("{} values, one a label", labels.len());
        return Err(Error::shape("bias", expected, format!("{}", bias.len())));
    }
    if !(max_ratio >= 1.0 && max_ratio.is_finite()) {
        return Err(Error::parameter("objective.oversample", max_ratio, "expected 1 or more"));
    }
    let (mut label_counts, mut pair_counts) = (BTreeMap::new(), BTreeMap::new());
    for (&label, &bias) in labels.iter().zip(bias) {
        *label_counts.entry(label).or_insert(0_u64) += 1;
        *pair_counts.entry((label, bias)).or_insert(0_u64) += 1;
    }
    let weight =
        |(&label, &bias): (&usize, &usize)| label_counts[&label] as f64 / pair_counts[&(label, bias)] as f64;
    let weights: Vec<f64> = labels.iter().zip(bias).map(weight).collect();
    let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(weights.into_iter().map(|weight| weight.min(max_ratio * least)).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
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
    fn a_last_batch_of_one_sample_is_left_out() {
        let mut sampler = sampler(17, 8, false);
        assert_eq!(sampler.batches_per_epoch(), 2);
        let seen: Vec<Vec<usize>> = (0..20).map(|step| sampler.batch(step).to_vec()).collect();
        assert!(seen.iter().all(|batch| batch.len() == 8));
        let missed = |epoch: usize| (0..17).find(|at| !seen[2 * epoch..2 * epoch + 2].concat().contains(at));
        assert!((1..10).any(|epoch| missed(epoch) != missed(0)), "each epoch leaves out another one");
    }

    #[test]
    fn a_single_sample_is_a_batch_where_there_is_no_other() {
        for (samples, batch, count) in [(1, 4, 1), (3, 1, 3), (1, 1, 1)] {
            let mut sampler = sampler(samples, batch, false);
            assert_eq!(sampler.batches_per_epoch(), count);
            assert_eq!(sampler.batch(0).len(), 1);
        }
    }

    #[test]
    fn a_batch_does_not_depend_on_the_batches_before_it() {
        let (mut walked, mut jumped) = (sampler(23, 5, false), sampler(23, 5, false));
        let walked: Vec<Vec<usize>> = (0..14).map(|step| walked.batch(step).to_vec()).collect();
        assert_eq!(walked[13], jumped.batch(13));
        assert_eq!(walked[2], jumped.batch(2));
    }

    #[test]
    fn what_cannot_be_sampled_is_an_error() {
        let new = |samples, batch, drop_last| Sampler::new(Sampling { samples, batch, drop_last, seed: 0 });
        assert!(new(0, 4, false).unwrap_err().to_string().contains("empty"));
        assert!(new(3, 0, false).unwrap_err().to_string().contains("batch_size"));
        assert!(new(3, 4, true).unwrap_err().to_string().contains("batch_size"));
        assert!(new(3, 4, false).is_ok());
    }

    #[test]
    fn the_released_weights_are_by_label_and_at_most_ten_times_the_smallest() {
        // Label 0: 98 of bias 0, 2 of bias 1. Label 1: 60 of bias 1, 40 of bias 0.
        let labels: Vec<usize> = (0..200).map(|i| i / 100).collect();
        let bias: Vec<usize> =
            (0..200).map(|i| if i < 100 { usize::from(i >= 98) } else { usize::from(i < 160) }).collect();
        let weights = bias_weights(&labels, &bias, 10.0).unwrap();
        let expected = |i: usize| match i {
            0..98 => 100.0 / 98.0,
            98..100 => 10.0 * 100.0 / 98.0,
            100..160 => 100.0 / 60.0,
            _ => 100.0 / 40.0,
        };
        for (i, weight) in weights.iter().enumerate() {
            assert!((weight - expected(i)).abs() < 1e-12, "{i}: {weight}");
        }
        assert_eq!(bias_weights(&labels, &bias, 1e9).unwrap()[99], 50.0);
        assert!(bias_weights(&labels, &bias[1..], 10.0).unwrap_err().to_string().contains("bias"));
        assert!(bias_weights(&labels, &bias, 0.5).unwrap_err().to_string().contains("oversample"));
    }

    #[test]
    fn samples_come_as_often_as_their_weights_say() {
        let weights = [1.0, 0.0, 10.0, 2.5, 1.5];
        let sampler = WeightedSampler::new(&weights, 64, 3).unwrap();
        let mut counts = [0_u32; 5];
        let steps = 1000;
        for step in 0..steps {
            assert_eq!(sampler.batch(step), sampler.batch(step));
            sampler.batch(step).into_iter().for_each(|sample| counts[sample] += 1);
        }
        for (&count, weight) in counts.iter().zip(weights) {
            let share = weight / 15.0;
            let draws = (64 * steps) as f64;
            let deviation = (draws * share * (1.0 - share)).sqrt();
            assert!((f64::from(count) - draws * share).abs() <= 4.0 * deviation, "{counts:?}");
        }
        assert_ne!(sampler.batch(0), sampler.batch(1));
        assert_ne!(sampler.batch(0), WeightedSampler::new(&weights, 64, 4).unwrap().batch(0));
        for wrong in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY]] {
            assert!(WeightedSampler::new(wrong, 2, 0).is_err(), "{wrong:?}");
        }
        assert!(WeightedSampler::new(&[1.0], 0, 0).is_err());
    }
}
