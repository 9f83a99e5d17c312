//! The part of an objective that needs the condition of a batch alone, done ahead of the step while the device computes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use burn::tensor::Device;
use simile_core::kernel::conditional::SolvedCondition;
use simile_core::loss::Objective;
use simile_core::numeric::matrix::Matrix;
use tracing::trace_span;

use super::worker::{Ahead, Worker};

/// Number of solves that wait for their step while the next is computed.
const READY: usize = 1;

/// Solves for one step after another. A solve depends on the samples of its batch only, so a run gives the same numbers with
/// and without this, also if it is resumed.
pub(crate) struct Solves {
    objective: Arc<dyn Objective>,
    condition: Arc<Matrix>,
    device: Device,
    ahead: Ahead<Worker<Option<SolvedCondition>>>,
}

impl Solves {
    /// `None` for an objective that solves nothing. `condition` are the values of all samples.
    pub(crate) fn new(
        objective: Box<dyn Objective>,
        condition: Arc<Matrix>,
        device: &Device,
    ) -> Option<Self> {
        objective.conditioned_by_kernel()?;
        let (objective, device) = (objective.into(), device.clone());
        Some(Self { objective, condition, device, ahead: Ahead::default() })
    }

    /// The solution for a step; `None` if the condition has none, in which case the step itself returns the error. `plan` lists the
    /// samples of this step and of those after it.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(crate) fn of(
        &mut self,
        step: u64,
        plan: impl FnOnce() -> Box<dyn Iterator<Item = Vec<usize>> + Send>,
    ) -> Result<Option<SolvedCondition>> {
        let Self { objective, condition, device, ahead } = self;
        let begin = || {
            let (objective, condition, device) =
                (Arc::clone(objective), Arc::clone(condition), device.clone());
            let solved = move |samples: Vec<usize>| solve(&*objective, &condition, &samples, &device);
            Worker::new("solves", READY, plan().map(solved))
        };
        Ok(ahead.at(step, begin)?.next().flatten())
    }

    /// The solution for some samples, by this thread.
    pub(crate) fn at_once(&self, samples: &[usize]) -> Option<SolvedCondition> {
        solve(&*self.objective, &self.condition, samples, &self.device)
    }

    /// The time that [`of`](Self::of) has waited since the last call of this function.
    pub(crate) fn take_waited(&mut self) -> Duration {
        self.ahead.thread().map_or(Duration::ZERO, Worker::take_waited)
    }
}

fn solve(
    objective: &dyn Objective,
    condition: &Matrix,
    samples: &[usize],
    device: &Device,
) -> Option<SolvedCondition> {
    let _solving = trace_span!("solve").entered();
    objective.conditioned_by_kernel()?.solve(&condition.select(samples), device).ok()
}
