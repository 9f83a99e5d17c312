//! The arithmetic and the memory traffic of a step.

use serde::Serialize;

use super::TrainerConfig;
use super::memory::F32_BYTES;
use crate::algorithm::{PairCount, StepSize, Workload};

/// Floating-point operations, two for each multiply-add, and bytes that are read and written in the device's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The arithmetic and the memory traffic of a training step, computed from the settings alone.
///
/// ```text
/// networks   2 multiply-adds, 4 numbers of every pass (2 in bf16); a pass with gradients counts three times
/// loss       2 · 3 a c d, 4 (3 (a + c) d + 4 a c)      a anchors, c candidates of d numbers
/// update     4 p (3 + 2 slots)          parameters p: value, gradient and state are read, value and state written;
///                                       3 more for each with an average, which reads both and writes one
/// ```
///
/// The loss is that of an objective of pairs: similarities, and the gradients of anchors and of candidates, each one product of
/// matrices; every similarity is written and read forward and backward, as a GPU does (the CPU's tiles stay in its cache).
/// Arithmetic of single numbers, exponentials among it, is not counted, nor is the augmentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepCost {
    /// All passes of all networks, forward and backward.
    pub networks: Cost,
    /// The objective with its gradient.
    pub loss: Cost,
    /// The optimiser.
    pub update: Cost,
}

impl StepCost {
    /// All together.
    pub fn total(&self) -> Cost {
        let parts = [self.networks, self.loss, self.update];
        parts.into_iter().fold(Cost::default(), |sum, part| Cost {
            flops: sum.flops.saturating_add(part.flops),
            bytes: sum.bytes.saturating_add(part.bytes),
        })
    }
}

impl TrainerConfig {
    /// The cost of a step of a size. The same settings count as for [`step_memory`](Self::step_memory).
    pub fn step_cost(&self, size: StepSize) -> StepCost {
        let Workload { trained, multiply_adds, traffic, pairs, .. } = self.workload(size);
        let PairCount { anchors, candidates, width } = pairs;
        let (compared, rows) = (anchors.saturating_mul(candidates), (anchors + candidates) * width);
        let average = if self.ema.is_some() { 3 } else { 0 };
        StepCost {
            networks: Cost {
                flops: multiply_adds.saturating_mul(2),
                bytes: self.bytes_per_number().saturating_mul(traffic),
            },
            loss: Cost {
                flops: compared.saturating_mul(6 * width),
                bytes: F32_BYTES.saturating_mul(compared.saturating_mul(4).saturating_add(3 * rows)),
            },
            update: Cost {
                flops: 0,
                bytes: F32_BYTES * trained * (3 + 2 * self.optimizer.slots() + average),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{
        AlgorithmConfig, BatchStatistics, ByolSettings, GradCacheSettings, MocoSettings, SingleSettings,
    };
    use crate::loss::ObjectiveConfig;
    use crate::nn::head::{HeadConfig, HeadKind};
    use crate::train::Precision;

    fn cost(algorithm: AlgorithmConfig, objective: &str, samples: usize) -> StepCost {
        let head = HeadConfig { kind: HeadKind::Linear, output: 8, ..HeadConfig::default() };
        let objective = ObjectiveConfig::named(objective);
        let config = TrainerConfig { algorithm, objective, head, ..TrainerConfig::default() };
        config.step_cost(StepSize { samples, to_classify: None })
    }

    fn cached(chunk: usize, statistics: BatchStatistics) -> AlgorithmConfig {
        AlgorithmConfig::GradCache(GradCacheSettings { chunk, statistics })
    }

    /// LeNet-5 has 650,880 multiply-adds, its head 84 × 8; a pass with gradients is three.
    #[test]
    fn passes_with_gradients_count_three_times_and_those_without_once() {
        let one = 2 * (650_880 + 84 * 8);
        let flops = |algorithm, objective| cost(algorithm, objective, 6).networks.flops;
        assert_eq!(flops(AlgorithmConfig::Single(SingleSettings {}), "nt-xent"), 12 * 3 * one);
        assert_eq!(flops(AlgorithmConfig::Single(SingleSettings {}), "cross-entropy"), 6 * 3 * one);
        assert_eq!(flops(cached(6, BatchStatistics::Chunk), "nt-xent"), 12 * 3 * one);
        // Two chunks of three.
        assert_eq!(flops(cached(2, BatchStatistics::Chunk), "nt-xent"), (12 * 3 + 8) * one);
        // Forward, again within segments, and with gradients.
        assert_eq!(flops(cached(2, BatchStatistics::Batch), "nt-xent"), 12 * 5 * one);
        let moco = AlgorithmConfig::Moco(MocoSettings { queue: 100, ..MocoSettings::default() });
        assert_eq!(flops(moco, "moco"), 6 * 4 * one);
        let byol = AlgorithmConfig::Byol(ByolSettings::default());
        assert_eq!(flops(byol, "byol"), 12 * 4 * one);
    }

    #[test]
    fn a_loss_of_pairs_is_three_products_and_one_of_classes_is_none() {
        let loss = |algorithm, objective| cost(algorithm, objective, 6).loss;
        let pairs = Cost { flops: 2 * 3 * 12 * 12 * 8, bytes: 4 * (4 * 144 + 3 * 24 * 8) };
        assert_eq!(loss(AlgorithmConfig::Single(SingleSettings {}), "nt-xent"), pairs);
        assert_eq!(loss(AlgorithmConfig::Single(SingleSettings {}), "cross-entropy"), Cost::default());
        let moco = AlgorithmConfig::Moco(MocoSettings { queue: 100, ..MocoSettings::default() });
        assert_eq!(loss(moco, "moco").flops, 2 * 3 * 6 * 100 * 8);
    }

    #[test]
    fn half_precision_halves_the_bytes_of_the_network_alone() {
        let encoder = crate::nn::EncoderConfig {
            name: crate::nn::Architecture::ResNet18,
            ..crate::nn::EncoderConfig::default()
        };
        let objective = ObjectiveConfig::named("nt-xent");
        let full = TrainerConfig { encoder, objective, ..TrainerConfig::default() };
        let half = TrainerConfig { precision: Precision::Bf16, ..full.clone() };
        let size = StepSize { samples: 6, to_classify: None };
        let (full, half) = (full.step_cost(size), half.step_cost(size));
        assert_eq!(half.networks.bytes * 2, full.networks.bytes);
        assert_eq!(
            (half.networks.flops, half.loss, half.update),
            (full.networks.flops, full.loss, full.update)
        );
    }
}
