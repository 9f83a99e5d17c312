//! Batches of images that a thread reads while a device computes.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use burn::tensor::{Device, Tensor};
use simile_core::augment::{ByteForm, HostPlanes};
use simile_core::data::{DatasetError, ImageSet, Images};

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
    /// `None` only while it is dropped.
    batches: Option<Receiver<Result<Batch, DatasetError>>>,
    thread: Option<JoinHandle<()>>,
    device: Device,
    waited: Duration,
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
        plan: impl Iterator<Item = Vec<usize>> + Send + 'static,
        change: impl Fn(Images) -> Result<Images, DatasetError> + Send + 'static,
        device: &Device,
    ) -> Result<Self> {
        let form = ByteForm::of(device);
        // One batch waits here, and one in the hands of the thread.
        let (sender, batches) = sync_channel(1);
        let read = move |indices: Vec<usize>| {
            let images = images.read(&indices).and_then(&change)?;
            Ok(Batch { indices, planes: HostPlanes::new(&images, form) })
        };
        let work = move || {
            for indices in plan {
                let batch = read(indices);
                let is_last = batch.is_err();
                // Nobody receives if the user of the batches has ended.
                if sender.send(batch).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("images".into()).spawn(work);
        let thread = thread.context("starting the thread that reads images")?;
        Ok(Self {
            batches: Some(batches),
            thread: Some(thread),
            device: device.clone(),
            waited: Duration::ZERO,
        })
    }

    /// The next batch: the numbers of its images, and the images on the device, `[n, channels, height, width]`, 0 to 1.
    ///
    /// # Errors
    /// If an image cannot be read, or the plan has ended.
    pub(crate) fn next(&mut self) -> Result<(Vec<usize>, Tensor<4>)> {
        let asked = Instant::now();
        let received = self.batches.as_ref().map(Receiver::recv);
        self.waited += asked.elapsed();
        let Some(Ok(batch)) = received else { return Err(anyhow!("the thread that reads images has ended")) };
        let Batch { indices, planes } = batch?;
        Ok((indices, planes.upload(&self.device).images()))
    }

    /// The time that [`next`](Self::next) has waited since the last call of this function.
    pub(crate) fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // Without a receiver the thread ends with the batch that it reads.
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by its message.
            let _ = thread.join();
        }
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
