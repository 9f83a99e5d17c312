//! The images of each step, on the device: gathered there from a small set, read ahead from a large one.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use burn::tensor::Device;
use simile_core::algorithm::BatchShard;
use simile_core::augment::{ImageBatch, ImageStore};
use simile_core::data::ImageSet;

use crate::experiment::prepare::order::Order;
use crate::experiment::prepare::prefetch::Prefetcher;
use crate::experiment::prepare::worker::Ahead;

/// The place of the images of a run.
#[derive(Clone)]
pub(super) enum ImagePlace {
    Device(ImageStore),
    Elsewhere,
}

impl ImagePlace {
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
    /// The images of these that this process takes.
    pub(super) images: ImageBatch,
    /// Their rows in the batch.
    pub(super) rows: Vec<Range<usize>>,
    /// The stretches of squeezed pictures.
    pub(super) stretches: Option<Vec<f64>>,
}

/// The images of step after step, in an order. Both places give the same numbers.
pub(super) struct ImageLoader {
    order: Order,
    images: ImageSet,
    place: ImagePlace,
    device: Device,
    /// The rows of each batch that this process takes.
    shard: BatchShard,
    /// The thread that reads ahead.
    prefetched: Ahead<Prefetcher>,
}

impl ImageLoader {
    pub(super) fn new(order: Order, images: &ImageSet, place: ImagePlace, device: &Device) -> Self {
        Self {
            order,
            images: images.clone(),
            place,
            device: device.clone(),
            shard: BatchShard::WHOLE,
            prefetched: Ahead::default(),
        }
    }

    /// Reads only these rows of each batch from here on.
    pub(super) fn set_shard(&mut self, shard: BatchShard) {
        (self.shard, self.prefetched) = (shard, Ahead::default());
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
        plan(&self.order, step, end)
    }

    /// The images of this process in a step, which are `indices`.
    fn images_of(&mut self, step: u64, end: u64, indices: &[usize]) -> Result<ImageBatch> {
        if let ImagePlace::Device(store) = &self.place {
            return Ok(store.batch(indices)?);
        }
        let begin = || {
            let shard = self.shard;
            let own_plan = plan(&self.order, step, end);
            let own_plan = own_plan.map(move |indices| own(&indices, &shard.rows(indices.len())));
            Prefetcher::new(self.images.clone(), own_plan, None, &self.device)
        };
        Ok(self.prefetched.at(step, begin)?.next()?.1)
    }

    /// The time that steps have waited for images since the last call of this function; `None` if they lie on the device.
    pub(super) fn take_waited(&mut self) -> Option<Duration> {
        self.prefetched.thread().map(Prefetcher::take_waited)
    }
}

/// The images of a step and of those after it, up to `end`.
fn plan(order: &Order, step: u64, end: u64) -> impl Iterator<Item = Vec<usize>> + Send + use<> {
    let mut order = order.clone();
    (step..end.max(step + 1)).map(move |step| order.batch(step))
}

/// The numbers of some rows.
fn own(indices: &[usize], rows: &[Range<usize>]) -> Vec<usize> {
    rows.iter().filter_map(|rows| indices.get(rows.clone())).flatten().copied().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

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
        let ImagePlace::Device(store) = ImagePlace::of(&images, u64::MAX, &gpu).unwrap() else {
            unreachable!()
        };
        let indices = [3, count - 1, 200, count - 9];
        let batch = store.batch(&indices).unwrap();
        let values: Vec<f32> =
            batch.into_tensor().mean_dim(3).mean_dim(2).into_data().iter::<f32>().collect();
        for (value, number) in values.chunks(3).zip(indices) {
            assert!((value[2] - f32::from(number as u8) / 255.0).abs() < 1e-5, "{number}: {value:?}");
        }
    }
}
