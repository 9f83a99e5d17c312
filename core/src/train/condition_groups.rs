//! Batches of samples with similar conditions.

use std::sync::Arc;

use rand::RngExt;

use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::random::{Purpose, stream};

/// Batches of groups of near neighbours in the space of the condition.
///
/// Their samples have similar conditions, so that a conditional objective has pairs to compare in every batch.
///
/// In a random batch of 256 only a few samples share an anchor's colour, and those few carry all of its weight.
/// Here a batch consists of groups: for each group one sample is drawn, together with the samples whose condition
/// is nearest to its own. Ours: of the four works only the appendix of CCL-K composes batches by the condition, of one
/// cluster each ([`ClusterBatches`](super::ClusterBatches)).
#[derive(Debug, Clone)]
pub struct ConditionGroups {
    condition: Arc<Matrix>,
    batch: usize,
    groups: usize,
    seed: u64,
}

impl ConditionGroups {
    /// Batches of `batch` samples in `groups` groups; `condition` has one row a sample, compared by Euclidean
    /// distance in its own units.
    ///
    /// # Errors
    /// [`Error::Parameter`] if there is not at least one sample a group, or `batch` is above the number of samples.
    pub fn new(condition: impl Into<Arc<Matrix>>, batch: usize, groups: usize, seed: u64) -> Result<Self> {
        let condition = condition.into();
        if !(1..=condition.rows()).contains(&batch) {
            let range = format!("expected 1 to {}, the number of samples", condition.rows());
            return Err(Error::parameter("batch_size", batch, &range));
        }
        if !(1..=batch).contains(&groups) {
            return Err(Error::parameter("neighbourhoods", groups, &format!("expected 1 to {batch}")));
        }
        Ok(Self { condition, batch, groups, seed })
    }

    /// The samples of step `step`, each once: they depend only on the seed and the step.
    pub fn batch(&self, step: u64) -> Vec<usize> {
        let mut rng = stream(self.seed, Purpose::Order, step);
        let mut is_drawn = vec![false; self.condition.rows()];
        let mut batch = Vec::with_capacity(self.batch);
        for group in 0..self.groups {
            // Group sizes differ by at most one if the batch size is not a multiple of the number of groups.
            let size = (self.batch - batch.len()) / (self.groups - group);
            let centre = self.condition.row(rng.random_range(0..self.condition.rows()));
            let distance = |row: &[f64]| row.iter().zip(centre).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            let mut free: Vec<(f64, usize)> = (self.condition.iter_rows().enumerate())
                .filter(|&(sample, _)| !is_drawn[sample])
                .map(|(sample, row)| (distance(row), sample))
                .collect();
            let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if size < free.len() {
                free.select_nth_unstable_by(size, order);
                free.truncate(size);
            }
            free.sort_unstable_by(order);
            for (_, sample) in free {
                is_drawn[sample] = true;
                batch.push(sample);
            }
        }
        batch
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Samples on a line, in an order that is unrelated to their position.
    fn line(samples: usize) -> Matrix {
        Matrix::from_fn(samples, 1, |i, _| (i * 37 % samples) as f64)
    }

    #[test]
    fn a_group_is_an_interval_of_the_condition() {
        let batches = ConditionGroups::new(line(100), 12, 1, 3).unwrap();
        for step in 0..20 {
            let batch = batches.batch(step);
            let mut places: Vec<usize> = batch.iter().map(|&i| i * 37 % 100).collect();
            places.sort_unstable();
            assert_eq!((places.len(), places[11] - places[0]), (12, 11), "{places:?}");
        }
    }

    #[test]
    fn samples_are_taken_once_and_batches_are_full() {
        for groups in [1, 3, 7, 12] {
            let batches = ConditionGroups::new(line(13), 12, groups, 3).unwrap();
            for step in 0..10 {
                let mut batch = batches.batch(step);
                assert_eq!(batch, batches.batch(step));
                batch.sort_unstable();
                batch.dedup();
                assert_eq!(batch.len(), 12);
            }
        }
        let batches = ConditionGroups::new(line(100), 12, 3, 3).unwrap();
        assert_ne!(batches.batch(0), batches.batch(1));
    }

    #[test]
    fn sizes_out_of_range_are_named() {
        let error = |batch, groups| ConditionGroups::new(line(9), batch, groups, 0).unwrap_err().to_string();
        assert!(error(10, 2).contains("batch_size") && error(0, 0).contains("batch_size"));
        assert!(error(4, 5).contains("neighbourhoods") && error(4, 0).contains("neighbourhoods"));
    }
}
