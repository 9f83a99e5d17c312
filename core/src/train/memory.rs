//! The memory of a step.

use simile_kernels::similarities_at_once;

use super::{Precision, TrainerConfig};
use crate::algorithm::{ModelConfig, PairCount, StepSize, Workload};
use crate::loss::Objective;
use crate::nn::EncoderConfig;

/// Bytes of an `f32`.
pub(super) const F32_BYTES: u64 = 4;
/// Bytes of a number in half precision.
const HALF_BYTES: u64 = 2;

/// The pictures of a batch before its views are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredPictures {
    /// Pixels of a side, which may be more than those of the network's images.
    pub side: usize,
    /// Batches that wait on the device while one is used, a byte a value.
    pub ahead: usize,
    /// The form of the batch until its views are made.
    pub form: PictureForm,
}

/// The form of the pictures of a batch until its views are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureForm {
    /// Part of a set in the memory of a CPU, from which views are made.
    InSet,
    /// Bytes, from which a CPU makes views.
    Bytes,
    /// Bytes and the numbers that they become, as on a GPU.
    Numbers,
}

/// The least memory of a training step on its device, in bytes, estimated from the settings alone, before there is any tensor.
///
/// ```text
///   4 p (2 + slots)           parameters p, their gradients, the optimiser's state; 4 p for each network that follows
/// + 8 b c s² + a b c r²       two views of b images of c channels, s pixels a side, twice for `cached` with the statistics of the
///                             batch; the pictures, r pixels a side, of a number a of batches that are read ahead
/// + the larger one of
///     5 b c r²                the pictures of the batch as bytes and as numbers, until their views are made; on a CPU b c r², or
///                             nothing if they are those of a set in memory
///     4 Σ n k + 4 (b² + m)    for each network, k numbers that it keeps of n images that it computes at once (2 Σ n k in bf16);
///                             b² weights of pairs, if they are dense for every condition; m similarities that the loss has
///                             at once
/// ```
///
/// It is a lower bound: weights that can have another form, buffers of single operations, and pages that an allocator keeps, come
/// on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMemory {
    /// Parameters, gradients, the optimiser's state, and networks that follow.
    pub parameters: u64,
    /// Numbers that are kept for the gradient.
    pub activations: u64,
    /// The weights of pairs of samples and their similarities.
    pub pairs: u64,
    /// The views of the batch, and the pictures of batches that wait.
    pub images: u64,
    /// The pictures of the batch, which are gone when the network begins.
    pub pictures: u64,
    /// The largest tensor, which is part of these.
    pub largest: u64,
}

impl StepMemory {
    /// The most at any time.
    pub fn total(&self) -> u64 {
        let in_turn = self.pictures.max(self.activations.saturating_add(self.pairs));
        self.parameters.saturating_add(self.images).saturating_add(in_turn)
    }
}

impl TrainerConfig {
    /// The least memory of a step of a size on the first of `devices` that share it. Only objective, algorithm, network, head,
    /// optimiser, average, accumulation and precision count.
    pub fn step_memory(&self, size: StepSize, stored: StoredPictures, devices: usize) -> StepMemory {
        let Workload { trained, fixed, pairs, .. } = self.workload(size);
        let Workload { activations, largest, extra_images, .. } = self.workload(self.share(size, devices));
        let copies =
            2 + self.optimizer.slots() + u64::from(self.accumulate > 1) + u64::from(self.ema.is_some());
        let bytes = self.bytes_per_number();
        let to_classify = size.to_classify.unwrap_or(0) as u64;
        let views = 2 * size.samples as u64 + to_classify + extra_images;
        let picture = (self.encoder.channels * stored.side.pow(2)) as u64;
        let pictures = picture.saturating_mul(size.samples as u64 + to_classify);
        let (bytes_of_value, numbers_of_value) = match stored.form {
            PictureForm::InSet => (0, 0),
            PictureForm::Bytes => (1, 0),
            PictureForm::Numbers => (1, F32_BYTES),
        };
        StepMemory {
            parameters: F32_BYTES * (trained * copies + fixed),
            activations: bytes.saturating_mul(activations),
            pairs: self.pairs(pairs, size.samples),
            images: self.views(views).saturating_add(pictures.saturating_mul(stored.ahead as u64)),
            pictures: pictures.saturating_mul(bytes_of_value + numbers_of_value),
            largest: bytes.saturating_mul(largest).max(pictures.saturating_mul(numbers_of_value)),
        }
    }

    /// The least memory of a step on a further device that shares it: a copy of the network with its gradients, and its chunks
    /// of the batch. `None` for an algorithm that computes on one device.
    pub fn helper_memory(&self, size: StepSize, devices: usize) -> Option<StepMemory> {
        self.algorithm.chunk()?;
        let share = self.share(size, devices);
        let Workload { trained, activations, largest, .. } = self.workload(share);
        let bytes = self.bytes_per_number();
        Some(StepMemory {
            parameters: F32_BYTES * 2 * trained,
            activations: bytes.saturating_mul(activations),
            pairs: 0,
            images: self.views(2 * share.samples as u64),
            pictures: 0,
            largest: bytes.saturating_mul(largest),
        })
    }

    /// The part of a batch that is on each of `devices` in turn, chunk by chunk: all of it unless the method computes chunks.
    fn share(&self, size: StepSize, devices: usize) -> StepSize {
        let Some(chunk) = self.algorithm.chunk() else { return size };
        let chunks = size.samples.div_ceil(chunk.max(1)).div_ceil(devices.max(1));
        StepSize { samples: size.samples.min(chunk.saturating_mul(chunks)), ..size }
    }

    /// Bytes of `count` images in the form that the network reads.
    fn views(&self, count: u64) -> u64 {
        let EncoderConfig { channels, input_size, .. } = self.encoder;
        F32_BYTES.saturating_mul(count.saturating_mul((channels * input_size.pow(2)) as u64))
    }

    /// Bytes of the weights of pairs of samples, at least, and of the similarities that the loss has at once.
    fn pairs(&self, PairCount { anchors, candidates, .. }: PairCount, samples: usize) -> u64 {
        let least = |objective: Box<dyn Objective>| {
            Some(*objective.conditioned_by_kernel()?.stored_numbers(samples).start())
        };
        let weights = self.objective.build().ok().and_then(least).unwrap_or(0);
        F32_BYTES.saturating_mul(weights.saturating_add(similarities_at_once(anchors, candidates)))
    }

    /// Parameters, passes and comparisons of a step of a size.
    pub(super) fn workload(&self, size: StepSize) -> Workload {
        let network =
            ModelConfig { encoder: self.encoder.clone(), head: self.head.clone(), ..ModelConfig::default() };
        self.algorithm.workload(&network, &self.objective.name, size)
    }

    /// Bytes of a number in the activations of the network.
    pub(super) fn bytes_per_number(&self) -> u64 {
        match self.precision {
            Precision::Bf16 if self.encoder.name.computes_in_half() => HALF_BYTES,
            _ => F32_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{AlgorithmConfig, BatchStatistics, GradCacheSettings};
    use crate::loss::ObjectiveConfig;

    /// LeNet-5 sees three channels of 32 pixels.
    fn memory(objective: ObjectiveConfig, samples: usize, stored: StoredPictures) -> StepMemory {
        let config = TrainerConfig { objective, ..TrainerConfig::default() };
        config.step_memory(StepSize { samples, to_classify: None }, stored, 1)
    }

    #[test]
    fn pictures_count_with_their_own_side_and_those_that_wait_too() {
        let stored = |side, ahead, form| {
            memory(ObjectiveConfig::named("nt-xent"), 10, StoredPictures { side, ahead, form })
        };
        let of = |side, ahead| stored(side, ahead, PictureForm::Numbers);
        let (same, larger) = (of(32, 0), of(64, 0));
        assert_eq!((same.images, larger.images), (8 * 10 * 3 * 32 * 32, same.images));
        assert_eq!((same.pictures, larger.pictures), (5 * 10 * 3 * 32 * 32, 5 * 10 * 3 * 64 * 64));
        assert_eq!(of(64, 2).images, same.images + 2 * 10 * 3 * 64 * 64);
        // Views are made before the network keeps anything: only the larger of both counts.
        assert_eq!(same.total(), larger.total());
        let huge = of(4096, 0);
        assert_eq!(huge.total(), huge.parameters + huge.images + huge.pictures);
        assert_eq!(huge.largest, 4 * 10 * 3 * 4096 * 4096);
        for (form, pictures) in [(PictureForm::Bytes, 10 * 3 * 4096 * 4096), (PictureForm::InSet, 0)] {
            let on_cpu = stored(4096, 0, form);
            assert_eq!(on_cpu, StepMemory { pictures, largest: same.largest, ..huge });
        }
    }

    #[test]
    fn weights_of_a_solved_condition_that_are_dense_and_similarities_count() {
        let of = |objective: &ObjectiveConfig, samples| {
            memory(
                objective.clone(),
                samples,
                StoredPictures { side: 32, ahead: 0, form: PictureForm::Numbers },
            )
            .pairs
        };
        let named = ObjectiveConfig::named;
        assert_eq!(of(&named("cross-entropy"), 64), 0);
        assert_eq!(of(&named("nt-xent"), 64), 4 * 128 * 128);
        // The cosine has factors above a size, the RBF kernel with conditions that are equal or change slowly.
        let mut rbf = named("fair-cclk");
        rbf.parameters.insert("kernel".into(), serde_json::json!({ "name": "rbf", "sigma": 1.0 }));
        assert_eq!(of(&named("fair-cclk"), 64), 4 * (64 * 64 + 128 * 128));
        assert_eq!(of(&named("fair-cclk"), 256), 4 * 512 * 512);
        assert_eq!(of(&rbf, 256), 4 * (256 * 256 + 512 * 512));
        // Of large batches the similarities of a tile.
        assert_eq!(of(&named("fair-cclk"), 4096), 4 * (1 << 22));
        assert_eq!(of(&rbf, 4096), 4 * (1 << 22));
        rbf.parameters.insert("approximation".into(), serde_json::json!({ "rank": 8 }));
        assert_eq!(of(&rbf, 256), 4 * 512 * 512);
    }

    #[test]
    fn a_further_device_has_a_copy_of_the_network_and_its_chunks() {
        let cached = |statistics| AlgorithmConfig::GradCache(GradCacheSettings { chunk: 4, statistics });
        let size = StepSize { samples: 64, to_classify: None };
        let single = TrainerConfig::default();
        assert_eq!(single.helper_memory(size, 2), None);
        let config = TrainerConfig { algorithm: cached(BatchStatistics::Chunk), ..single };
        let side = config.encoder.input_size;
        let stored = StoredPictures { side, ahead: 0, form: PictureForm::Numbers };
        let (first, helper) = (config.step_memory(size, stored, 2), config.helper_memory(size, 2));
        let Some(helper) = helper else { unreachable!("the method shares its steps") };
        assert_eq!((helper.activations, helper.images), (first.activations, 32 * 8 * 3 * 32 * 32));
        assert!(helper.parameters < first.parameters && helper.total() < first.total());
        // The views of the whole batch are not copied; each device has a part of what statistics of the whole batch keep.
        assert_eq!(first.images, 64 * 8 * 3 * 32 * 32);
        let config = TrainerConfig { algorithm: cached(BatchStatistics::Batch), ..config };
        let alone = config.step_memory(size, stored, 1).activations;
        let [first, helper] = [
            config.step_memory(size, stored, 2).activations,
            config.helper_memory(size, 2).map_or(0, |helper| helper.activations),
        ];
        assert!(first == helper && first < alone && 2 * first > alone, "{first} {helper} {alone}");
    }
}
