//! Results that a thread of their own makes ahead of their use.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use simile_core::step_stage::StepStage;
use tracing::dispatcher;

/// Results in order, made by a thread: while one is used, others are ready and one more is made. Dropped before its end, it
/// waits for the one that is being made.
pub(super) struct Worker<T> {
    /// `None` only while it is dropped.
    results: Option<Receiver<T>>,
    thread: Option<JoinHandle<()>>,
    waited: Duration,
}

impl<T: Send + 'static> Worker<T> {
    /// Begins to make the results of an iterator, `ready` of which wait for their use while one more is made, or waits in the
    /// hands of the thread. `name` is that of the thread.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(super) fn new(
        name: &str,
        ready: usize,
        work: impl Iterator<Item = T> + Send + 'static,
    ) -> Result<Self> {
        let (sender, results) = sync_channel(ready);
        let hand_over = move || {
            for result in work {
                // Nobody receives if the user of the results has ended.
                if sender.send(result).is_err() {
                    return;
                }
            }
        };
        // Whoever listens to the stages of this thread hears those of the other one too.
        let listener = dispatcher::get_default(Clone::clone);
        let work = move || dispatcher::with_default(&listener, hand_over);
        let thread = thread::Builder::new().name(name.into()).spawn(work);
        let thread = thread.with_context(|| format!("starting a thread for {name}"))?;
        Ok(Self { results: Some(results), thread: Some(thread), waited: Duration::ZERO })
    }

    /// The next result; `None` if there is none, or the thread panicked.
    pub(super) fn next(&mut self) -> Option<T> {
        let _waiting = StepStage::Waiting.enter();
        let asked = Instant::now();
        let received = self.results.as_ref().and_then(|results| results.recv().ok());
        self.waited += asked.elapsed();
        received
    }

    /// The time that [`next`](Self::next) has waited since the last call of this function.
    pub(super) fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        // Without a receiver the thread ends with the result that it makes.
        self.results = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by its message.
            let _ = thread.join();
        }
    }
}

/// A thread that works ahead of the steps, with the step of its next result.
pub(crate) struct Ahead<T>(Option<(u64, T)>);

impl<T> Default for Ahead<T> {
    /// No thread.
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Ahead<T> {
    /// The thread whose next result is that of a step, which the caller takes: the one that is ahead, or, if that has come to another step,
    /// the one that `begin` starts.
    ///
    /// # Errors
    /// As `begin`.
    pub(crate) fn at(&mut self, step: u64, begin: impl FnOnce() -> Result<T>) -> Result<&mut T> {
        let thread = match self.0.take().filter(|(next, _)| *next == step) {
            Some((_, thread)) => thread,
            None => begin()?,
        };
        Ok(&mut self.0.insert((step + 1, thread)).1)
    }

    /// The thread, if one has begun.
    pub(crate) fn thread(&mut self) -> Option<&mut T> {
        self.0.as_mut().map(|(_, thread)| thread)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_come_to_another_step_is_begun_anew() {
        let (mut ahead, mut begun) = (Ahead::default(), Vec::new());
        assert!(ahead.thread().is_none());
        for step in [3, 4, 5, 5, 6, 0] {
            let begin = || {
                begun.push(step);
                Ok(step)
            };
            *ahead.at(step, begin).unwrap() += 1;
        }
        assert_eq!(begun, [3, 5, 0]);
        assert_eq!(ahead.thread().copied(), Some(1));
        assert!(ahead.at(9, || anyhow::bail!("no thread")).is_err() && ahead.thread().is_none());
    }
}
