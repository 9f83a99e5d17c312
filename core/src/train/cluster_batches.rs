//! Batches of one cluster.

use std::collections::BTreeMap;

use rand::RngExt;
use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::numeric::random::{Purpose, stream};

/// The fewest samples that a loss can compare.
const FEWEST: usize = 2;

/// Batches of one cluster each, as appendix D of CCL-K describes those of Fair-InfoNCE: positive and negative pairs of a step have
/// the same outcome of the condition.
///
/// No batch has a sample twice; a cluster comes as often as its share of all samples. One of fewer samples than a batch gives all
/// of them, and one of a single sample never comes.
#[derive(Debug, Clone)]
pub struct ClusterBatches {
    /// The samples of each cluster that can come.
    members: Vec<Vec<usize>>,
    /// The place in `members` of the cluster of each sample that can come.
    clusters: Vec<usize>,
    batch: usize,
    seed: u64,
}

impl ClusterBatches {
    /// Batches of at most `batch` samples; `clusters` has the cluster of each sample.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a batch below 2; [`Error::Degenerate`] if no cluster has two samples.
    pub fn new(clusters: &[usize], batch: usize, seed: u64) -> Result<Self> {
        if batch < FEWEST {
            return Err(Error::parameter("batch_size", batch, "expected 2 or more, all of one cluster"));
        }
        let mut by_cluster: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (sample, &cluster) in clusters.iter().enumerate() {
            by_cluster.entry(cluster).or_default().push(sample);
        }
        let members: Vec<Vec<usize>> =
            by_cluster.into_values().filter(|members| members.len() >= FEWEST).collect();
        if members.is_empty() {
            return Err(Error::Degenerate {
                reason: "no cluster has two samples, and a batch is drawn from one cluster".into(),
                remedy: "take fewer clusters".into(),
            });
        }
        let places = members.iter().enumerate();
        let clusters = places.flat_map(|(place, members)| vec![place; members.len()]).collect();
        Ok(Self { members, clusters, batch, seed })
    }

    /// The samples of step `step`, each once: they depend only on the seed and the step.
    pub fn batch(&self, step: u64) -> Vec<usize> {
        let mut rng = stream(self.seed, Purpose::Order, step);
        let position = rng.random_range(0..self.clusters.len());
        let cluster = self.clusters.get(position).and_then(|&place| self.members.get(place));
        let mut members = cluster.cloned().unwrap_or_default();
        members.partial_shuffle(&mut rng, self.batch).0.to_vec()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// 30 samples of cluster 0, 10 of cluster 7.
    fn clusters() -> Vec<usize> {
        (0..40).map(|sample| if sample % 4 == 1 { 7 } else { 0 }).collect()
    }

    #[test]
    fn a_batch_is_of_one_cluster_that_comes_as_often_as_it_has_samples() {
        let (clusters, steps) = (clusters(), 2000);
        let batches = ClusterBatches::new(&clusters, 6, 3).unwrap();
        let (mut rare, mut seen) = (0, vec![0; clusters.len()]);
        for step in 0..steps {
            let batch = batches.batch(step);
            assert_eq!(batch, batches.batch(step));
            assert!(batch.iter().all(|&sample| clusters[sample] == clusters[batch[0]]), "{batch:?}");
            assert_eq!(batch.iter().collect::<BTreeSet<_>>().len(), 6, "{batch:?}");
            rare += usize::from(clusters[batch[0]] == 7);
            batch.iter().for_each(|&sample| seen[sample] += 1);
        }
        // A quarter of the batches; four deviations of 19.4 either way.
        assert!((420..580).contains(&rare), "{rare}");
        // Each of 40 samples has 6 places in 2000 batches.
        assert!(seen.iter().all(|count| (220..380).contains(count)), "{seen:?}");
        assert_ne!(batches.batch(0), ClusterBatches::new(&clusters, 6, 4).unwrap().batch(0));
    }

    #[test]
    fn a_small_cluster_gives_all_of_its_samples_and_a_single_one_never_comes() {
        // Sample 0 is alone.
        let clusters: Vec<usize> = (0..40).map(|sample| usize::from(sample != 0) + sample % 2).collect();
        let batches = ClusterBatches::new(&clusters, 100, 3).unwrap();
        let sizes: BTreeSet<usize> = (0..50).map(|step| batches.batch(step).len()).collect();
        assert_eq!(sizes, BTreeSet::from([19, 20]));
        assert!((0..50).all(|step| !batches.batch(step).contains(&0)));
    }

    #[test]
    fn what_cannot_be_batches_of_one_cluster_is_an_error() {
        let error =
            |clusters: &[usize], batch| ClusterBatches::new(clusters, batch, 0).unwrap_err().to_string();
        assert!(error(&clusters(), 1).contains("batch_size"));
        assert!(error(&[0, 1, 2], 2).contains("fewer clusters") && error(&[], 2).contains("fewer clusters"));
    }
}
