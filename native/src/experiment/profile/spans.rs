//! Records the stages of some steps with their times, from the spans of core, and the work of other threads meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use simile_core::step_stage::StepStage;
use tracing::span::Id;
use tracing::{Subscriber, trace_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The name of the span of a whole step, whose own time is the time outside all stages.
const STEP: &str = "step";
/// The name under which that time is listed.
const OTHER: &str = "other";
/// The place of the thread that takes the steps among all threads, and its name.
const TRAINING: usize = 0;
const TRAINING_NAME: &str = "training";

/// Runs `work` as one step.
pub(super) fn step<R>(work: impl FnOnce() -> R) -> R {
    trace_span!("step").in_scope(work)
}

/// One stage of one step, or a piece of the work of another thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) name: &'static str,
    /// The place of its thread in [`RecordedStages::threads`].
    pub(super) thread: usize,
    /// Time from the beginning of the measurement.
    pub(super) start: Duration,
    pub(super) length: Duration,
    /// The time of the stages inside it.
    within: Duration,
}

/// The stages of some steps, in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct RecordedStages {
    pub(super) events: Vec<Event>,
    /// The names of the threads, the first of which takes the steps.
    pub(super) threads: Vec<String>,
}

impl RecordedStages {
    /// The seconds of each stage without those of the stages inside it, in the order of a step.
    pub(super) fn own_seconds(&self) -> Vec<(&'static str, f64)> {
        let of = |name: &str| -> f64 {
            let events = self.events.iter().filter(|event| event.thread == TRAINING && event.name == name);
            // The sum of no numbers is -0.
            events.fold(0.0, |sum, event| sum + event.length.saturating_sub(event.within).as_secs_f64())
        };
        let stages = StepStage::ALL.iter().map(|stage| (stage.name(), of(stage.name())));
        stages.chain([(OTHER, of(STEP))]).collect()
    }
}

/// The record of a listener.
#[derive(Debug)]
struct Record {
    is_recording: AtomicBool,
    recorded: Mutex<RecordedSpans>,
}

#[derive(Debug)]
struct RecordedSpans {
    stages: RecordedStages,
    /// The threads of which there are events, in the order of [`RecordedStages::threads`].
    threads: Vec<ThreadId>,
}

impl Record {
    fn recorded(&self) -> MutexGuard<'_, RecordedSpans> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordedSpans {
    /// The place of this thread among all.
    fn thread(&mut self) -> usize {
        let current = thread::current();
        match self.threads.iter().position(|known| *known == current.id()) {
            Some(at) => at,
            None => {
                self.threads.push(current.id());
                self.stages.threads.push(current.name().unwrap_or("thread").to_owned());
                self.threads.len() - 1
            }
        }
    }
}

/// The recorded stages, shared with the listener.
pub(super) struct Recorded(Arc<Record>);

impl Recorded {
    /// Begins to record.
    pub(super) fn begin(&self) {
        self.0.is_recording.store(true, Ordering::Relaxed);
    }

    /// Ends the record. A stage in progress is no part of it.
    pub(super) fn finish(self) -> RecordedStages {
        self.0.is_recording.store(false, Ordering::Relaxed);
        std::mem::take(&mut self.0.recorded().stages)
    }
}

/// A listener that waits for the device where a stage begins and ends, so that the device's work counts for the stage
/// that gave it. It waits in the thread that takes the steps alone: others are there to work meanwhile.
pub(super) struct Spans {
    device: Device,
    started: Instant,
    training: ThreadId,
    record: Arc<Record>,
}

/// A stage that has begun.
struct Open {
    start: Duration,
    within: Duration,
}

impl Spans {
    /// A listener for steps of this thread and for the threads that work for it, and the stages that it records once it is told
    /// to begin.
    pub(super) fn listen(device: Device) -> (impl Subscriber + Send + Sync, Recorded) {
        let training = thread::current().id();
        let stages = RecordedStages { threads: vec![TRAINING_NAME.to_owned()], ..RecordedStages::default() };
        let recorded = Mutex::new(RecordedSpans { stages, threads: vec![training] });
        let record = Arc::new(Record { is_recording: AtomicBool::new(false), recorded });
        let spans = Self { device, started: Instant::now(), training, record: Arc::clone(&record) };
        (Registry::default().with(spans), Recorded(record))
    }

    /// The time; in the thread that takes the steps that at which the device has done all work that it was given.
    fn now(&self) -> Duration {
        if thread::current().id() == self.training {
            // A device that fails here fails in the step too, which reports it.
            let _ = self.device.sync();
        }
        self.started.elapsed()
    }

    fn is_recording(&self) -> bool {
        self.record.is_recording.load(Ordering::Relaxed)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| self.is_recording()) else { return };
        let start = self.now();
        span.extensions_mut().replace(Open { start, within: Duration::ZERO });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| self.is_recording()) else { return };
        let Some(Open { start, within }) = span.extensions_mut().remove::<Open>() else { return };
        let length = self.now().saturating_sub(start);
        if let Some(parent) = span.parent()
            && let Some(open) = parent.extensions_mut().get_mut::<Open>()
        {
            open.within += length;
        }
        let mut recorded = self.record.recorded();
        let thread = recorded.thread();
        recorded.stages.events.push(Event { name: span.name(), thread, start, length, within });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Tensor;
    use simile_core::augment::{Augmentation, Normalisation};
    use simile_core::train::{Purpose, ViewMaker, stream};

    use super::*;

    fn pause(milliseconds: u64) {
        thread::sleep(Duration::from_millis(milliseconds));
    }

    #[test]
    fn a_stage_inside_another_counts_once() {
        let (spans, stages) = Spans::listen(Device::flex());
        tracing::subscriber::with_default(spans, || {
            // Stages that began before the record are not part of it.
            step(|| pause(1));
            stages.begin();
            step(|| {
                let _data = StepStage::Data.enter();
                pause(5);
                let _views = StepStage::Views.enter();
                pause(20);
            });
        });
        let stages = stages.finish();
        let names: Vec<&str> = stages.events.iter().map(|event| event.name).collect();
        assert_eq!(names, ["views", "data", STEP]);
        let seconds = stages.own_seconds();
        let of = |name: &str| seconds.iter().find(|(stage, _)| *stage == name).map(|(_, seconds)| *seconds);
        let whole = stages.events[2].length.as_secs_f64();
        let sum: f64 = seconds.iter().map(|(_, seconds)| seconds).sum();
        assert!((sum - whole).abs() < 1e-6, "{sum} of {whole}");
        assert!(of("views") >= Some(0.02) && of("data") >= Some(0.005) && of("data") < of("views"));
        assert_eq!(of("forward"), Some(0.0));
    }

    #[test]
    fn normalisation_is_part_of_the_views() {
        let normalisation = Normalisation { mean: vec![0.4; 3], std: vec![0.2; 3] };
        let maker = ViewMaker::new(Augmentation::default(), normalisation);
        let images = Tensor::<4>::zeros([64, 3, 128, 128], &Device::flex());
        let (spans, stages) = Spans::listen(Device::flex());
        tracing::subscriber::with_default(spans, || {
            stages.begin();
            step(|| {
                let _data = StepStage::Data.enter();
                let mut rng = stream(0, Purpose::Augmentation, 0);
                let views = maker.pair(images.clone(), None, &mut rng).unwrap();
                drop((views, maker.single(images.clone(), None, &mut rng).unwrap()));
            });
        });
        let seconds = stages.finish().own_seconds();
        let of = |name: &str| seconds.iter().find(|(stage, _)| *stage == name).map(|(_, seconds)| *seconds);
        // Normalisation takes longer than views that change nothing.
        assert!(of("data").unwrap() < 0.2 * of("views").unwrap(), "{seconds:?}");
    }

    #[test]
    fn the_work_of_another_thread_has_its_name_and_no_part_of_a_step() {
        let (spans, stages) = Spans::listen(Device::flex());
        tracing::subscriber::with_default(spans, || {
            stages.begin();
            let listener = tracing::dispatcher::get_default(Clone::clone);
            let reader = thread::Builder::new().name("images".into()).spawn(move || {
                tracing::dispatcher::with_default(&listener, || {
                    let _update = StepStage::Update.enter();
                    pause(5);
                });
            });
            step(|| {
                let _waiting = StepStage::Waiting.enter();
                reader.unwrap().join().unwrap();
            });
        });
        let stages = stages.finish();
        assert_eq!(stages.threads, [TRAINING_NAME, "images"]);
        let places: Vec<_> = stages.events.iter().map(|event| (event.name, event.thread)).collect();
        assert_eq!(places, [("update", 1), ("waiting", TRAINING), (STEP, TRAINING)]);
        let seconds = stages.own_seconds();
        let of = |name: &str| seconds.iter().find(|(stage, _)| *stage == name).map(|(_, seconds)| *seconds);
        assert!(of("waiting") >= Some(0.004) && of("update") == Some(0.0), "{seconds:?}");
        assert!(seconds.iter().all(|(_, seconds)| seconds.is_sign_positive()), "{seconds:?}");
    }
}
