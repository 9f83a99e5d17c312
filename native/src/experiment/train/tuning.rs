//! The steps of a variant on a GPU that take far longer than the others: the first one, and the first with another size of batch. Kernels
//! are compiled there, and the fastest of several chosen by trying them. The user is told, so that nobody takes it for a fault.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::train::Trainer;
use simile_kernels::LaunchCounter;

use super::loader::{BatchSize, StepBatch};
use crate::console::{PeriodicLine, line};

/// The sizes of batches that kernels are tuned for.
pub(crate) struct Tuning {
    variant: String,
    on_gpu: bool,
    tuned: BTreeSet<BatchSize>,
}

impl Tuning {
    /// Before the first step of a variant in this process.
    pub(crate) fn new(variant: &str, on_gpu: bool) -> Self {
        Self { variant: variant.to_owned(), on_gpu, tuned: BTreeSet::new() }
    }

    /// Says that the first step begins, which also makes its views on the GPU; nothing after it, and nothing on a CPU.
    pub(crate) fn before_first_batch(&self) -> Option<TuningNotice> {
        (self.on_gpu && self.tuned.is_empty()).then(|| {
            let what = "the first step compiles and tunes kernels for the GPU, which may take minutes; the others are fast";
            TuningNotice::begin(&self.variant, what, "the first step")
        })
    }

    /// Takes a step of the trainer on a batch, with the notice that was given before it or one of its own; returns the number of images
    /// whose views it saw.
    ///
    /// # Errors
    /// If the objective is not defined on the batch, or the device fails.
    pub(crate) fn step(
        &mut self,
        first: Option<TuningNotice>,
        batch: StepBatch,
        trainer: &mut Trainer,
        device: &Device,
    ) -> Result<usize> {
        let notice_text = self.notice_of_size(batch.size());
        let notice =
            first.or_else(|| notice_text.map(|text| TuningNotice::begin(&self.variant, &text, "its step")));
        let images = batch.step(trainer)?;
        if let Some(notice) = notice {
            device.sync().context("waiting for the device")?;
            notice.end();
        }
        Ok(images)
    }

    /// The notice of the first batch of a size, which is tuned from here on; none for others, and none on a CPU.
    fn notice_of_size(&mut self, size: BatchSize) -> Option<String> {
        let is_new = self.on_gpu && self.tuned.insert(size);
        is_new.then(|| format!("a batch of {size}: kernels are tuned for it too"))
    }
}

/// A step that tunes kernels, in progress.
pub(crate) struct TuningNotice {
    variant: String,
    /// The step, in the line of its end.
    step: &'static str,
    launches: Arc<LaunchCounter>,
    began: Instant,
    _periodic_line: PeriodicLine,
}

impl TuningNotice {
    /// Says that the step begins, and from time to time how many kernels were started.
    fn begin(variant: &str, what: &str, step: &'static str) -> Self {
        line(format_args!("{variant}: {what}"));
        let launches = Arc::new(LaunchCounter::count());
        // The thread ends after the notice: it must not hold the counter, whose end takes away a later one.
        let (counted, name) = (Arc::downgrade(&launches), variant.to_owned());
        let so_far = move || {
            let count = counted.upgrade().map_or(0, |count| count.so_far());
            format!("{name}: tuning, {count} kernels started so far")
        };
        Self {
            variant: variant.to_owned(),
            step,
            launches,
            began: Instant::now(),
            _periodic_line: PeriodicLine::start(so_far),
        }
    }

    /// Says that the step has ended.
    fn end(self) {
        let Self { variant, step, launches, began, .. } = self;
        line(format_args!(
            "{variant}: {step} took {:.1} s and started {} kernels",
            began.elapsed().as_secs_f64(),
            launches.so_far()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread of the periodic line held it too: it ended after the counter of `--profile` had begun, and took that away.
    #[test]
    fn the_counter_of_a_notice_ends_with_it() {
        let notice = TuningNotice::begin("SimCLR", "the first step tunes kernels", "the first step");
        assert_eq!(Arc::strong_count(&notice.launches), 1);
        notice.end();
    }

    /// Only the first step was announced: a last batch of an epoch that is shorter was taken for a fault.
    #[test]
    fn each_new_size_of_batch_is_announced_on_a_gpu() {
        let notices = |on_gpu: bool| {
            let mut tuning = Tuning::new("SimCLR", on_gpu);
            let sizes = [(32, None), (32, None), (16, None), (32, Some(8)), (16, None)];
            sizes
                .map(|(images, classified)| tuning.notice_of_size(BatchSize { images, classified }).is_some())
        };
        assert_eq!(notices(true), [true, false, true, true, false]);
        assert_eq!(notices(false), [false; 5]);
        let mut tuning = Tuning::new("SimCLR", true);
        let text = tuning.notice_of_size(BatchSize { images: 80, classified: None });
        assert_eq!(text.as_deref(), Some("a batch of 80 images: kernels are tuned for it too"));
        assert!(
            tuning.before_first_batch().is_none()
                && Tuning::new("SimCLR", false).before_first_batch().is_none()
        );
        let text = tuning.notice_of_size(BatchSize { images: 64, classified: Some(96) });
        assert_eq!(
            text.as_deref(),
            Some("a batch of 64 images beside 96 to classify: kernels are tuned for it too")
        );
    }
}
