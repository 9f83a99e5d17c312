//! The part of an objective that needs the condition of a batch alone, done ahead of the step while the device computes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use burn::tensor::Device;
use simile_core::kernel::conditional::ConditionSolution;
use simile_core::loss::Objective;
use simile_core::numeric::matrix::Matrix;
use tracing::trace_span;

use super::worker::Worker;

/// Number of solves that wait for their step while the next is computed.
const READY: usize = 1;

/// Solves for one step after another. A solve depends on the samples of its batch only, so a run gives the same numbers with
/// and without this, also if it is resumed.
pub(crate) struct Solves {
    objective: Arc<dyn Objective>,
    condition: Arc<Matrix>,
    device: Device,
    /// The next step, and the thread that solves for it.
    ahead: Option<(u64, Worker<Option<ConditionSolution>>)>,
}

impl Solves {
    /// `None` for an objective that solves nothing. `condition` are the values of all samples.
    pub(crate) fn new(
        objective: Box<dyn Objective>,
        condition: Arc<Matrix>,
        device: &Device,
    ) -> Option<Self> {
        objective.ahead()?;
        Some(Self { objective: objective.into(), condition, device: device.clone(), ahead: None })
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
    ) -> Result<Option<ConditionSolution>> {
        let (_, mut worker) = match self.ahead.take().filter(|(next, _)| *next == step) {
            Some(ahead) => ahead,
            None => (step, self.worker(plan())?),
        };
        let solution = worker.next().flatten();
        self.ahead = Some((step + 1, worker));
        Ok(solution)
    }

    /// The solution for some samples, by this thread.
    pub(crate) fn at_once(&self, samples: &[usize]) -> Option<ConditionSolution> {
        solve(&*self.objective, &self.condition, samples, &self.device)
    }

    /// The time that [`of`](Self::of) has waited since the last call of this function.
    pub(crate) fn take_waited(&mut self) -> Duration {
        self.ahead.as_mut().map_or(Duration::ZERO, |(_, worker)| worker.take_waited())
    }

    fn worker(
        &self,
        plan: impl Iterator<Item = Vec<usize>> + Send + 'static,
    ) -> Result<Worker<Option<ConditionSolution>>> {
        let (objective, condition) = (Arc::clone(&self.objective), Arc::clone(&self.condition));
        let device = self.device.clone();
        let of = move |samples: Vec<usize>| solve(&*objective, &condition, &samples, &device);
        Worker::new("solves", READY, plan.map(of))
    }
}

fn solve(
    objective: &dyn Objective,
    condition: &Matrix,
    samples: &[usize],
    device: &Device,
) -> Option<ConditionSolution> {
    let _solving = trace_span!("solve").entered();
    objective.ahead()?.solve(&condition.select(samples), device).ok()
}
