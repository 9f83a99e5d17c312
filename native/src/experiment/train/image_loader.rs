//! The images of each step, on the device: gathered there from a small set, read ahead from a large one.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use simile_core::algorithm::BatchShard;
use simile_core::augment::ImageStore;
use simile_core::data::ImageSet;
use simile_core::train::{ClusterBatches, ConditionGroups, Sampler, WeightedSampler};

use crate::experiment::prepare::prefetch::Prefetcher;

/// The order of the images, which depends only on the number of a step. A copy of it is small.
#[derive(Clone)]
pub(super) enum Order {
    Shuffled(Sampler),
    ConditionGroups(Arc<ConditionGroups>),
    Weighted(Arc<WeightedSampler>),
    OneCluster(Arc<ClusterBatches>),
}

impl Order {
    /// The images of a step.
    pub(super) fn batch(&mut self, step: u64) -> Vec<usize> {
        match self {
            Self::Shuffled(sampler) => sampler.batch(step).to_vec(),
            Self::ConditionGroups(groups) => groups.batch(step),
            Self::Weighted(sampler) => sampler.batch(step),
            Self::OneCluster(clusters) => clusters.batch(step),
        }
    }
}

/// The place of the images of a run.
#[derive(Clone)]
pub(super) enum Place {
    Device(ImageStore),
    Elsewhere,
}

impl Place {
    /// The device for a set of at most `resident` bytes.
    ///
    /// # Errors
    /// If an image cannot be read.
    pub(super) fn of(images: &ImageSet, resident: u64, device: &Device) -> Result<Self> {
        Ok(if images.bytes() <= resident {
            Self::Device(ImageStore::new(images, device)?)
        } else {
            Self::Elsewhere
        })
    }
}

/// The images of a step.
pub(super) struct StepImages {
    /// Their numbers in the training set.
    pub(super) indices: Vec<usize>,
    /// The images of these that this process takes, `[n, channels, height, width]`, 0 to 1.
    pub(super) images: Tensor<4>,
    /// Their rows in the batch.
    pub(super) rows: Vec<Range<usize>>,
    /// The stretches of squeezed pictures.
    pub(super) stretches: Option<Vec<f64>>,
}

/// The images of step after step, in an order. Both places give the same numbers.
pub(super) struct ImageLoader {
    order: Order,
    images: ImageSet,
    place: Place,
    device: Device,
    /// The rows of each batch that this process takes.
    shard: BatchShard,
    /// The thread that reads ahead, with the step of its next batch.
    prefetched: Option<(u64, Prefetcher)>,
}

impl ImageLoader {
    pub(super) fn new(order: Order, images: &ImageSet, place: Place, device: &Device) -> Self {
        Self {
            order,
            images: images.clone(),
            place,
            device: device.clone(),
            shard: BatchShard::WHOLE,
            prefetched: None,
        }
    }

    /// Reads only these rows of each batch from here on.
    pub(super) fn set_shard(&mut self, shard: BatchShard) {
        (self.shard, self.prefetched) = (shard, None);
    }

    /// The images of a step. Nothing is read ahead for steps from `end` on.
    ///
    /// # Errors
    /// If an image cannot be read.
    pub(super) fn batch(&mut self, step: u64, end: u64) -> Result<StepImages> {
        let indices = self.order.batch(step);
        let rows = self.shard.rows(indices.len());
        let images = self.images_of(step, end, &own(&indices, &rows))?;
        let stretches = self.images.stretches(&indices);
        Ok(StepImages { indices, images, rows, stretches })
    }

    /// The images of a step and of those after it, up to `end`.
    pub(super) fn plan(&self, step: u64, end: u64) -> impl Iterator<Item = Vec<usize>> + Send + use<> {
        let mut order = self.order.clone();
        (step..end.max(step + 1)).map(move |step| order.batch(step))
    }

    /// The images of this process in a step, which are `own`.
    fn images_of(&mut self, step: u64, end: u64, own: &[usize]) -> Result<Tensor<4>> {
        if let Place::Device(store) = &self.place {
            return Ok(store.batch(own)?);
        }
        let (_, mut prefetcher) = match self.prefetched.take().filter(|(next, _)| *next == step) {
            Some(prefetched) => prefetched,
            None => (step, Prefetcher::new(self.images.clone(), self.own_plan(step, end), Ok, &self.device)?),
        };
        let (_, images) = prefetcher.next()?;
        self.prefetched = Some((step + 1, prefetcher));
        Ok(images)
    }

    /// The images of this process in a step and in those after it, up to `end`.
    fn own_plan(&self, step: u64, end: u64) -> impl Iterator<Item = Vec<usize>> + Send + use<> {
        let shard = self.shard;
        self.plan(step, end).map(move |indices| own(&indices, &shard.rows(indices.len())))
    }

    /// The time that steps have waited for images since the last call of this function; `None` if they lie on the device.
    pub(super) fn take_waited(&mut self) -> Option<Duration> {
        self.prefetched.as_mut().map(|(_, prefetcher)| prefetcher.take_waited())
    }
}

/// The numbers of some rows.
fn own(indices: &[usize], rows: &[Range<usize>]) -> Vec<usize> {
    rows.iter().filter_map(|rows| indices.get(rows.clone())).flatten().copied().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::{DatasetError, ImageShape, ImageSource};

    use super::*;
    use crate::devices::{DeviceName, testing};
    use crate::skipped;

    const SIDE: usize = 256;
    /// A GPU that takes more in one tensor would need more memory for this than a test should ask for.
    const MOST: u64 = 256 << 20;

    /// Images of one colour, their number.
    #[derive(Debug)]
    struct Numbered(usize);

    impl ImageSource for Numbered {
        fn shape(&self) -> ImageShape {
            ImageShape { height: SIDE, width: SIDE, channels: 3 }
        }

        fn count(&self) -> usize {
            self.0
        }

        fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<(), DatasetError> {
            let images = pixels.chunks_exact_mut(self.shape().bytes());
            images.zip(numbers).for_each(|(image, &number)| image.fill(number as u8));
            Ok(())
        }
    }

    #[test]
    fn a_set_that_is_larger_than_a_tensor_of_a_gpu_stays_there_in_parts() {
        let Some(gpu) = testing::needed(DeviceName::Wgpu) else { return };
        let most = simile_kernels::memory(&gpu).unwrap().tensor;
        if most > MOST {
            return skipped::note(&format!(
                "a tensor of this GPU can have {} MiB, more than a test takes",
                most >> 20
            ));
        }
        let count = most as usize / (SIDE * SIDE * 3) + 10;
        let images = ImageSet::new(Arc::new(Numbered(count))).unwrap();
        assert!(images.bytes() > most);
        let Place::Device(store) = Place::of(&images, u64::MAX, &gpu).unwrap() else { unreachable!() };
        let indices = [3, count - 1, 200, count - 9];
        let batch = store.batch(&indices).unwrap();
        let values: Vec<f32> = batch.mean_dim(3).mean_dim(2).into_data().iter::<f32>().collect();
        for (value, number) in values.chunks(3).zip(indices) {
            assert!((value[2] - f32::from(number as u8) / 255.0).abs() < 1e-5, "{number}: {value:?}");
        }
    }
}
