//! The stages of some steps with their times, from the spans of core.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use simile_core::stage::Stage;
use tracing::span::Id;
use tracing::{Subscriber, trace_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

/// The name of the span of a whole step; its own time is what no stage accounts for.
const STEP: &str = "step";
/// The name of that time.
const OTHER: &str = "other";

/// Runs `work` as one step.
pub(super) fn step<R>(work: impl FnOnce() -> R) -> R {
    trace_span!("step").in_scope(work)
}

/// One stage of one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) name: &'static str,
    /// Time from the beginning of the measurement.
    pub(super) start: Duration,
    pub(super) length: Duration,
    /// The time of the stages inside it.
    within: Duration,
}

/// The stages of some steps, in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct Stages {
    pub(super) events: Vec<Event>,
}

impl Stages {
    /// The seconds of each stage without those of the stages inside it, in the order of a step.
    pub(super) fn own_seconds(&self) -> Vec<(&'static str, f64)> {
        let of = |name: &str| -> f64 {
            let events = self.events.iter().filter(|event| event.name == name);
            events.map(|event| event.length.saturating_sub(event.within).as_secs_f64()).sum()
        };
        let stages = Stage::ALL.iter().map(|stage| (stage.name(), of(stage.name())));
        stages.chain([(OTHER, of(STEP))]).collect()
    }
}

/// The recorded stages, shared with the listener.
pub(super) struct Recorded(Arc<Mutex<Stages>>);

impl Recorded {
    pub(super) fn finish(self) -> Stages {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A listener that waits for the device where a stage begins and ends, so that the device's work counts for the stage
/// that gave it.
pub(super) struct Spans {
    device: Device,
    started: Instant,
    stages: Arc<Mutex<Stages>>,
}

/// A stage that has begun.
struct Open {
    start: Duration,
    within: Duration,
}

impl Spans {
    /// A listener for one thread, and the stages that it records.
    pub(super) fn listen(device: Device) -> (impl Subscriber + Send + Sync, Recorded) {
        let stages = Arc::new(Mutex::new(Stages::default()));
        let spans = Self { device, started: Instant::now(), stages: stages.clone() };
        (Registry::default().with(spans), Recorded(stages))
    }

    /// The time at which the device has done all work that it was given.
    fn now(&self) -> Duration {
        // A device that fails here fails in the step too, which reports it.
        let _ = self.device.sync();
        self.started.elapsed()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let start = self.now();
        span.extensions_mut().replace(Open { start, within: Duration::ZERO });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(Open { start, within }) = span.extensions_mut().remove::<Open>() else { return };
        let length = self.now().saturating_sub(start);
        if let Some(parent) = span.parent()
            && let Some(open) = parent.extensions_mut().get_mut::<Open>()
        {
            open.within += length;
        }
        let event = Event { name: span.name(), start, length, within };
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).events.push(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_inside_another_counts_once() {
        let (spans, stages) = Spans::listen(Device::flex());
        let pause = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
        tracing::subscriber::with_default(spans, || {
            step(|| {
                let _data = Stage::Data.enter();
                pause(5);
                let _views = Stage::Views.enter();
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
}
