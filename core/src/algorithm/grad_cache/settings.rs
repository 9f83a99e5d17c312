//! The settings of [`GradCache`], and the memory and work of its chunks.

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::GradCache;
use crate::algorithm::Algorithm;
use crate::algorithm::settings::{AlgorithmContext, AlgorithmSettings, Meaning, at_least_one};
use crate::algorithm::workload::{Network, StepContext, Workload};
use crate::error::{Error, Result};
use crate::loss::spec::Spec;
use crate::nn::Activations;

/// The settings of [`GradCache`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradCacheSettings {
    /// Samples in memory at once, 1 or more.
    pub chunk: usize,
    /// The samples whose mean and variance batch norm takes. Default: those of a chunk.
    #[serde(default, skip_serializing_if = "BatchStatistics::is_default")]
    pub statistics: BatchStatistics,
}

/// The samples whose statistics normalise a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchStatistics {
    /// Each chunk is normalised by its own statistics, as each device is in distributed training. The result differs from one pass.
    #[default]
    Chunk,
    /// All chunks are normalised by the statistics of the batch, as in synchronised batch norm. The result equals one pass up to
    /// rounding. It costs another forward pass, and memory for the batch between the blocks of the network.
    Batch,
}

impl BatchStatistics {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl AlgorithmSettings for GradCacheSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            ("chunk", "Images that it computes at a time, 1 or more; has to be given."),
            (
                "statistics",
                "Images whose mean and variance batch norm takes: those of a `chunk` (the default), or of the `batch`, which \
                 equals one pass and takes longer.",
            ),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[[r#"{"chunk": 4}"#, "nt-xent", "lenet5"]]
    }

    fn check(&self, objective: &Spec, _steps: u64) -> Result<()> {
        if self.statistics == BatchStatistics::Batch && objective.head.scores(1, 1).is_some() {
            let expected = "expected `chunk` beside an objective of class scores, which compares no samples";
            return Err(Error::parameter("method.statistics", "batch", expected));
        }
        at_least_one("method.chunk", self.chunk)
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let (objective, chunk) = (context.objective.build()?, self.chunk);
        let algorithm = GradCache::new(context.network, objective, chunk, context.device, rng)?;
        Ok(Box::new(algorithm.with_statistics(self.statistics)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = Workload { pairs: step.pairs_of_views(), ..step.base() };
        let chunk = step.samples.min(self.chunk as u64);
        match self.statistics {
            BatchStatistics::Chunk => add_chunks(&mut workload, step.samples, chunk, &step.network),
            BatchStatistics::Batch => add_waiting_chunks(&mut workload, step.samples, chunk, &step.network),
        }
        workload
    }

    fn chunk(&self) -> Option<usize> {
        Some(self.chunk)
    }
}

/// Adds chunks of the pairs of a batch, whose network normalises each by its own statistics.
fn add_chunks(workload: &mut Workload, samples: u64, chunk: u64, network: &Network) {
    workload.add_training_pass(2 * chunk, network);
    // Every other chunk goes forward twice.
    let others = samples - chunk;
    for start in (0..others).step_by(chunk.max(1) as usize) {
        let images = 2 * chunk.min(others - start);
        workload.add_forward_work(images, network);
        workload.add_training_work(images, network);
    }
}

/// Adds chunks that the statistics of the whole batch normalise, for which all wait after each layer.
fn add_waiting_chunks(workload: &mut Workload, samples: u64, chunk: u64, network: &Network) {
    let Activations { between, largest, .. } = network.activations;
    workload.largest = (2 * chunk).saturating_mul(largest);
    workload.activations = (2 * samples).saturating_mul(between).saturating_add(workload.largest);
    workload.extra_images = 2 * samples;
    (0..2).for_each(|_| workload.add_forward_work(2 * samples, network));
    workload.add_training_work(2 * samples, network);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::algorithm::AlgorithmConfig;
    use crate::algorithm::testing::refusal;
    use crate::loss::ObjectiveConfig;

    #[test]
    fn statistics_of_the_batch_are_for_objectives_that_compare_samples() {
        let config = |statistics: &str| -> AlgorithmConfig {
            serde_json::from_str(&format!(r#"{{"name": "cached", "chunk": 2{statistics}}}"#)).unwrap()
        };
        let [default, chunk, batch] =
            ["", r#", "statistics": "chunk""#, r#", "statistics": "batch""#].map(config);
        assert!(default == chunk && chunk != batch);
        // Older states and recipes lack the setting.
        assert_eq!(serde_json::to_string(&default).unwrap(), r#"{"name":"cached","chunk":2}"#);
        let check = |config: &AlgorithmConfig, name: &str| config.check(&ObjectiveConfig::named(name), 10);
        assert!(check(&batch, "nt-xent").is_ok() && check(&chunk, "cross-entropy").is_ok());
        let error = check(&batch, "cross-entropy").unwrap_err().to_string();
        assert!(error.contains("method.statistics"), "{error}");
    }

    #[test]
    fn a_chunk_has_a_sample() {
        assert!(refusal(r#"{"name": "cached", "chunk": 0}"#, "nt-xent").contains("method.chunk"));
    }
}
