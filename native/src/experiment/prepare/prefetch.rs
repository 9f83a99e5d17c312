//! Batches of images that a thread reads while a device computes.

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use burn::tensor::{Device, StreamId};
use simile_core::augment::{HostImages, ImageBatch};
use simile_core::data::{DatasetError, ImageSet, Images};
use tracing::trace_span;

use super::worker::Worker;
use crate::experiment::memory::available::mebibytes;
use crate::experiment::step_settings::batches_ahead;

/// Most bytes of a set whose images stay on the device, unless `SIMILE_RESIDENT` says otherwise.
const RESIDENT: u64 = 2 << 30;

/// The stream of a GPU to which images are copied: one for all threads that read, since CubeCL keeps memory for each, and
/// another than that of the steps, whose operations are then fused in the same way whenever a batch comes.
static UPLOADS: LazyLock<StreamId> = LazyLock::new(StreamId::allocate);

/// Most bytes of a set whose images stay on the device; those of a larger set are read batch by batch. The numbers of a run
/// do not depend on it. `SIMILE_RESIDENT` gives it in MiB.
///
/// # Errors
/// A usage error if that is no whole number.
pub(crate) fn resident_limit() -> Result<u64> {
    let set_limit = mebibytes("SIMILE_RESIDENT", "the MiB of images that may stay on the device")?;
    Ok(set_limit.unwrap_or(RESIDENT))
}

/// A [`Change`](simile_core::augment::Change) for the thread that reads.
type BoxedChange = Box<dyn Fn(Images) -> Result<Images, DatasetError> + Send>;

/// Batches in the order of a plan, read and copied to the device by a thread of its own: while one is used, the next is
/// ready and the one after it is read, or the next one where a batch has more than 256 MiB. Dropped before its end, it waits
/// for the batch that is being read.
pub(crate) struct Prefetcher {
    batches: Worker<Result<Batch>>,
}

/// A batch on the device. Burn's backends let another thread use it than the one that has made it: those of CubeCL order
/// the streams of both.
struct Batch {
    indices: Vec<usize>,
    images: ImageBatch,
}

impl Prefetcher {
    /// Begins to read the batches of a plan: the images of each, changed by `change` if there is one.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(crate) fn new(
        images: ImageSet,
        plan: impl Iterator<Item = Vec<usize>> + Send + 'static,
        change: Option<BoxedChange>,
        device: &Device,
    ) -> Result<Self> {
        Self::with_depth(batches_ahead, images, plan, change, device)
    }

    /// Begins to read with `batches_ahead` batches ahead, a function of the bytes of the first batch.
    fn with_depth(
        batches_ahead: fn(u64) -> usize,
        images: ImageSet,
        plan: impl Iterator<Item = Vec<usize>> + Send + 'static,
        change: Option<BoxedChange>,
        device: &Device,
    ) -> Result<Self> {
        let mut plan = plan.peekable();
        let count = plan.peek().map_or(0, Vec::len) as u64;
        // The thread holds one of them, which it is reading.
        let ready = batches_ahead(count * images.shape().bytes() as u64).saturating_sub(1);
        let device = device.clone();
        let read = move |indices: Vec<usize>| {
            let images = {
                let _reading = trace_span!("read").entered();
                HostImages::read(&images, &indices, &device, change.as_deref())?
            };
            let _uploading = trace_span!("upload").entered();
            UPLOADS.executes(|| {
                let images = images.upload(&device);
                // Without it a GPU gets the images only when the step that needs them begins.
                device.flush().context("copying images to the device")?;
                Ok(Batch { indices, images })
            })
        };
        let mut has_failed = false;
        let until_failure = std::iter::from_fn(move || {
            let batch = plan.next().filter(|_| !has_failed).map(&read)?;
            has_failed = batch.is_err();
            Some(batch)
        });
        Ok(Self { batches: Worker::new("images", ready, until_failure)? })
    }

    /// The next batch: the numbers of its images, and the images on the device.
    ///
    /// # Errors
    /// If an image cannot be read, or the plan has ended.
    pub(crate) fn next(&mut self) -> Result<(Vec<usize>, ImageBatch)> {
        let batch = self.batches.next().ok_or_else(|| anyhow!("the thread that reads images has ended"))?;
        let Batch { indices, images } = batch?;
        Ok((indices, images.ready_for_views()))
    }

    /// The time that [`next`](Self::next) has waited since the last call of this function.
    pub(crate) fn take_waited(&mut self) -> Duration {
        self.batches.take_waited()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use simile_core::data::{ImageShape, ImageSource};

    use super::*;
    use crate::devices::{DeviceName, testing};

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

    fn prefetched(
        source: &Arc<Counted>,
        plan: impl Iterator<Item = Vec<usize>> + Send + 'static,
    ) -> Prefetcher {
        let images = ImageSet::new(Arc::<Counted>::clone(source)).unwrap();
        Prefetcher::new(images, plan, None, &Device::flex()).unwrap()
    }

    #[test]
    fn batches_come_in_the_order_of_the_plan_and_few_are_read_ahead() {
        let source = Arc::new(Counted::default());
        let mut batches = prefetched(&source, (0..40).map(|at| vec![at, 99 - at]));
        for at in 0..10 {
            let (indices, images) = batches.next().unwrap();
            assert_eq!(indices, [at, 99 - at]);
            let values: Vec<f32> = images.into_tensor().into_data().iter::<f32>().collect();
            assert_eq!(values, [at as f32 / 255.0, (99 - at) as f32 / 255.0]);
            assert!(source.batches.load(Ordering::SeqCst) <= at + 3);
        }
        drop(batches);
        assert!(source.batches.load(Ordering::SeqCst) <= 13, "the thread goes on after its user has ended");
        assert_eq!(Arc::strong_count(&source), 1, "the thread has ended");
    }

    #[test]
    fn a_large_batch_is_read_while_no_other_one_is_ready() {
        let source = Arc::new(Counted::default());
        let images = ImageSet::new(Arc::<Counted>::clone(&source)).unwrap();
        let plan = (0..40).map(|at| vec![at, 99 - at]);
        let mut batches = Prefetcher::with_depth(|_| 1, images, plan, None, &Device::flex()).unwrap();
        for at in 0..10 {
            assert_eq!(batches.next().unwrap().0, [at, 99 - at]);
            // Time for the thread to read more than it should.
            std::thread::sleep(Duration::from_millis(2));
            assert!(source.batches.load(Ordering::SeqCst) <= at + 2);
        }
        drop(batches);
        assert!(source.batches.load(Ordering::SeqCst) <= 12);
        // ImageNet at 224 pixels: of 4096 pictures of 256 pixels, 805 MB, one batch is ahead.
        assert_eq!([1024, 4096].map(|batch| batches_ahead(batch * 3 * 256 * 256)), [2, 1]);
    }

    /// The environment variable that tells a test that the process is its own.
    const ALONE: &str = "SIMILE_TEST_ALONE";

    /// The thread copies batches in a stream of its own, whose memory is used again once a step has used a batch. A device
    /// tells the memory of all its streams, so that the test has a process in which no other one takes any.
    #[test]
    fn batches_are_copied_to_a_gpu_ahead_without_taking_more_and_more_of_its_memory() {
        let Some(gpu) = testing::needed(DeviceName::Wgpu) else { return };
        if std::env::var_os(ALONE).is_none() {
            let mut process = Command::new(std::env::current_exe().unwrap());
            process.arg("batches_are_copied_to_a_gpu_ahead").env(ALONE, "1");
            let output = process.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        const SIDE: usize = 256;
        let images = (0..100 * SIDE * SIDE).map(|value| (value / (SIDE * SIDE)) as u8).collect();
        let images = ImageSet::from(Images::new(SIDE, SIDE, 1, images).unwrap());
        let reserved = || UPLOADS.executes(|| gpu.memory_pool_usage().unwrap().bytes_reserved);
        let mut after_passes = vec![];
        for _ in 0..4 {
            // Each pass has a thread of its own, as each evaluation has.
            let plan = (0..25_usize).map(|at| (0..16).map(|i| (at + 5 * i) % 100).collect());
            let mut batches = Prefetcher::new(images.clone(), plan, None, &gpu).unwrap();
            for at in 0..25 {
                let (indices, batch) = batches.next().unwrap();
                assert_eq!(indices[1], at + 5);
                let corner = batch.into_tensor().slice([0..16, 0..1, SIDE - 4..SIDE, SIDE - 4..SIDE]);
                let pixels: Vec<f32> = corner.mean_dim(3).mean_dim(2).into_data().iter::<f32>().collect();
                let expected = indices.iter().map(|&image| image as f32 / 255.0);
                assert!(pixels.iter().zip(expected).all(|(pixel, expected)| (pixel - expected).abs() < 1e-4));
            }
            after_passes.push(reserved());
        }
        // Each pass copies 26 MB.
        let grown = after_passes[3].saturating_sub(after_passes[0]);
        assert!(grown < 8 << 20, "after each pass: {after_passes:?}");
    }

    #[test]
    fn an_error_of_the_thread_is_that_of_its_batch() {
        let source = Arc::new(Counted::default());
        let mut batches = prefetched(&source, [vec![1], vec![50], vec![2]].into_iter());
        assert!(batches.next().is_ok());
        assert!(batches.next().unwrap_err().to_string().contains("the disk is gone"));
        assert!(batches.next().unwrap_err().to_string().contains("has ended"));
    }

    #[test]
    fn a_panic_of_the_thread_is_an_error() {
        let panic = std::iter::once_with(|| std::env::var_os("no such variable").map(|_| vec![0]).unwrap());
        let mut batches = prefetched(&Arc::new(Counted::default()), std::iter::once(vec![1]).chain(panic));
        assert!(batches.next().is_ok());
        assert!(batches.next().unwrap_err().to_string().contains("has ended"));
    }
}
