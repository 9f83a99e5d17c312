//! Batches of images that a thread reads while a device computes.

use std::time::Duration;

use anyhow::{Result, anyhow};
use burn::tensor::{Device, Tensor};
use simile_core::augment::{ByteForm, HostPlanes};
use simile_core::data::{DatasetError, ImageSet, Images};

use super::worker::Worker;
use crate::experiment::memory::available::mebibytes;

/// Most bytes of a set whose images stay on the device, unless `SIMILE_RESIDENT` says otherwise.
const RESIDENT: u64 = 2 << 30;

/// Most bytes of a set whose images stay on the device; those of a larger set are read batch by batch. The numbers of a run
/// do not depend on it. `SIMILE_RESIDENT` gives it in MiB.
///
/// # Errors
/// A usage error if that is no whole number.
pub(crate) fn resident_limit() -> Result<u64> {
    let given = mebibytes("SIMILE_RESIDENT", "the MiB of images that may stay on the device")?;
    Ok(given.unwrap_or(RESIDENT))
}

/// Batches in the order of a plan, read by a thread of its own: while one is used, the next is ready and the one after it
/// is read. Dropped before its end, it waits for the batch that is being read.
pub(crate) struct Ahead {
    batches: Worker<Result<Batch, DatasetError>>,
    device: Device,
}

/// A batch, ready for the device.
struct Batch {
    indices: Vec<usize>,
    planes: HostPlanes,
}

impl Ahead {
    /// Begins to read the batches of a plan: the images of each, changed by `change`.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(crate) fn new(
        images: ImageSet,
        mut plan: impl Iterator<Item = Vec<usize>> + Send + 'static,
        change: impl Fn(Images) -> Result<Images, DatasetError> + Send + 'static,
        device: &Device,
    ) -> Result<Self> {
        let form = ByteForm::of(device);
        let read = move |indices: Vec<usize>| {
            let images = images.read(&indices).and_then(&change)?;
            Ok(Batch { indices, planes: HostPlanes::new(&images, form) })
        };
        let mut has_failed = false;
        let until_failure = std::iter::from_fn(move || {
            let batch = plan.next().filter(|_| !has_failed).map(&read)?;
            has_failed = batch.is_err();
            Some(batch)
        });
        Ok(Self { batches: Worker::new("images", until_failure)?, device: device.clone() })
    }

    /// The next batch: the numbers of its images, and the images on the device, `[n, channels, height, width]`, 0 to 1.
    ///
    /// # Errors
    /// If an image cannot be read, or the plan has ended.
    pub(crate) fn next(&mut self) -> Result<(Vec<usize>, Tensor<4>)> {
        let batch = self.batches.next().ok_or_else(|| anyhow!("the thread that reads images has ended"))?;
        let Batch { indices, planes } = batch?;
        Ok((indices, planes.upload(&self.device).images()))
    }

    /// The time that [`next`](Self::next) has waited since the last call of this function.
    pub(crate) fn take_waited(&mut self) -> Duration {
        self.batches.take_waited()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use simile_core::data::{ImageShape, ImageSource};

    use super::*;

    /// Images of one pixel, their number; image 50 cannot be read. Counts the batches that were read.
    #[derive(Debug, Default)]
    struct Counted {
        batches: AtomicUsize,
    }

    impl ImageSource for Counted {
        fn shape(&self) -> ImageShape {
            ImageShape { height: 1, width: 1, channels: 1 }
        }

        fn count(&self) -> usize {
            100
        }

        fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<(), DatasetError> {
            self.batches.fetch_add(1, Ordering::SeqCst);
            if numbers.contains(&50) {
                let (origin, reason) = ("image 50".into(), "the disk is gone".into());
                return Err(DatasetError::Unreadable { origin, reason });
            }
            pixels.iter_mut().zip(numbers).for_each(|(pixel, &number)| *pixel = number as u8);
            Ok(())
        }
    }

    fn ahead(source: &Arc<Counted>, plan: impl Iterator<Item = Vec<usize>> + Send + 'static) -> Ahead {
        let images = ImageSet::new(Arc::<Counted>::clone(source)).unwrap();
        Ahead::new(images, plan, Ok, &Device::flex()).unwrap()
    }

    #[test]
    fn batches_come_in_the_order_of_the_plan_and_few_are_read_ahead() {
        let source = Arc::new(Counted::default());
        let mut batches = ahead(&source, (0..40).map(|at| vec![at, 99 - at]));
        for at in 0..10 {
            let (indices, images) = batches.next().unwrap();
            assert_eq!(indices, [at, 99 - at]);
            let values: Vec<f32> = images.into_data().iter::<f32>().collect();
            assert_eq!(values, [at as f32 / 255.0, (99 - at) as f32 / 255.0]);
            assert!(source.batches.load(Ordering::SeqCst) <= at + 3);
        }
        drop(batches);
        assert!(source.batches.load(Ordering::SeqCst) <= 13, "the thread goes on after its user has ended");
        assert_eq!(Arc::strong_count(&source), 1, "the thread has ended");
    }

    #[test]
    fn an_error_of_the_thread_is_that_of_its_batch() {
        let source = Arc::new(Counted::default());
        let mut batches = ahead(&source, [vec![1], vec![50], vec![2]].into_iter());
        assert!(batches.next().is_ok());
        assert!(batches.next().unwrap_err().to_string().contains("the disk is gone"));
        assert!(batches.next().unwrap_err().to_string().contains("has ended"));
    }

    #[test]
    fn a_panic_of_the_thread_is_an_error() {
        let plan = std::iter::once_with(|| std::env::var_os("no such variable").map(|_| vec![0]).unwrap());
        let mut batches = ahead(&Arc::new(Counted::default()), plan);
        assert!(batches.next().unwrap_err().to_string().contains("has ended"));
    }
}
