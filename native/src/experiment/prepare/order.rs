//! The order of the images of a run.

use std::sync::Arc;

use anyhow::Result;
use simile_core::train::{ClusterBatches, ConditionGroups, Sampler, Sampling, WeightedSampler};

use super::context::Context;
use crate::config::objective::{BatchRule, ObjectiveSection};
use crate::exit::usage;

/// The order of the images, which depends only on the number of a step. A copy of it is small.
#[derive(Clone)]
pub(crate) enum Order {
    Shuffled(Sampler),
    ConditionGroups(Arc<ConditionGroups>),
    Weighted(Arc<WeightedSampler>),
    OneCluster(Arc<ClusterBatches>),
}

impl Order {
    /// The order by the rule of an objective; `drop_last` of the sampling is for shuffled batches alone.
    ///
    /// # Errors
    /// A usage error if the objective names two rules; an error if the images do not support its rule.
    pub(crate) fn of(objective: &ObjectiveSection, context: &Context, sampling: Sampling) -> Result<Self> {
        let Sampling { batch, seed, .. } = sampling;
        Ok(match objective.batch_rule().map_err(usage)? {
            BatchRule::Shuffled => Self::Shuffled(Sampler::new(sampling)?),
            BatchRule::ConditionGroups(groups) => {
                Self::ConditionGroups(Arc::new(context.condition_groups(groups, batch, seed)?))
            }
            BatchRule::Oversampled(most) => Self::Weighted(Arc::new(context.weighted(most, batch, seed)?)),
            BatchRule::OneCluster => Self::OneCluster(Arc::new(context.cluster_batches(batch, seed)?)),
        })
    }

    /// The images of a step.
    pub(crate) fn batch(&mut self, step: u64) -> Vec<usize> {
        match self {
            Self::Shuffled(sampler) => sampler.batch(step).to_vec(),
            Self::ConditionGroups(groups) => groups.batch(step),
            Self::Weighted(sampler) => sampler.batch(step),
            Self::OneCluster(clusters) => clusters.batch(step),
        }
    }
}
