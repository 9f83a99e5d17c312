//! The agreement of the processes of a run before each step of a variant, and at its end, as the leader takes part in it.
//! `experiment::follow` has the part of the others.
//!
//! Every process reports a [`Status`], waits for those of all others, and takes the same [`Decision`] from them: to take the step, to
//! stop because of a signal, or to stop because a process failed. After a checkpoint the leader reports that it has one, and the
//! decision is that all others take its state over before they take the step.

use anyhow::{Result, anyhow};

use super::loader::StepBatch;
use super::trainer::is_of_another;
use super::variant_training::VariantTraining;
use crate::exit::Interrupted;
use crate::interrupt;
use crate::peers::{Decision, Status};
use crate::run_folder::record::Stopped;

impl VariantTraining<'_> {
    /// The batch of the next step, if all processes can take that step. If one cannot, or was interrupted, all end with a
    /// checkpoint of the state before it.
    pub(super) fn next_agreed_batch(&mut self) -> Result<StepBatch> {
        let batch = self.loader.next(&self.trainer);
        let processes = self.session.devices.processes.clone();
        if processes.is_alone() {
            return batch;
        }
        match processes.agree(self.status_before_step(&batch))? {
            Decision::ShareState => {
                processes.broadcast_state(self.unshared_state.take().unwrap_or_default())?;
                batch
            }
            Decision::Interrupt(signal) => {
                interrupt::adopt(signal);
                self.checkpoint_if_finite()?;
                Err(self.session.interrupted())
            }
            Decision::Fail(rank) => {
                self.checkpoint_if_finite()?;
                Err(batch.err().unwrap_or_else(|| self.failure_of(rank)))
            }
            Decision::Step | Decision::End => batch,
        }
    }

    /// The status of this process, given the batch of the next step.
    fn status_before_step(&self, batch: &Result<StepBatch>) -> Status {
        match (batch, interrupt::signal()) {
            (Err(_), _) => Status::Failed,
            (Ok(_), Some(signal)) => Status::Interrupted(signal),
            (Ok(_), None) if self.unshared_state.is_some() => Status::HasCheckpoint,
            (Ok(_), None) => Status::Ready,
        }
    }

    /// Tells the other processes that the variant has ended or failed, unless they know. Their statuses may change the outcome.
    pub(super) fn leave_group(&mut self, outcome: Result<Option<Stopped>>) -> Result<Option<Stopped>> {
        let processes = self.session.devices.processes.clone();
        if processes.is_alone() || processes.has_ended() {
            return outcome;
        }
        let status = match (&outcome, interrupt::signal()) {
            (Ok(_), _) => Status::Ended,
            // The process that failed reports it.
            (Err(error), _) if is_of_another(error) => Status::Ready,
            // The signal stopped an evaluation.
            (Err(error), Some(signal)) if error.is::<Interrupted>() => Status::Interrupted(signal),
            (Err(_), _) => Status::Failed,
        };
        match (outcome, processes.agree(status)?) {
            // The error here says only that another process failed; the decision names it.
            (Err(error), Decision::Fail(rank)) if is_of_another(&error) => Err(self.failure_of(rank)),
            (Err(error), _) => Err(error),
            (Ok(_), Decision::Interrupt(signal)) => {
                interrupt::adopt(signal);
                Err(self.session.interrupted())
            }
            (Ok(_), Decision::Fail(rank)) => Err(anyhow!("process {rank} failed in the last step")),
            (Ok(stopped), _) => Ok(stopped),
        }
    }

    /// The error that the process of a rank failed, with the command that resumes the run.
    fn failure_of(&self, rank: usize) -> anyhow::Error {
        let command = self.session.resume_command();
        anyhow!("process {rank} failed; continue with `{command}`")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::experiment::testing::{DIVERGING, first, session};
    use crate::peers::ProcessGroup;
    use crate::peers::testing::Others;
    use crate::run_folder::tensorboard::EventLog;

    /// The run went on with the next variant, and waited for processes that had ended.
    #[test]
    fn what_ends_another_process_ends_the_run_though_its_numbers_are_not_finite() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session(&place.path().join("run"), DIVERGING);
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
        let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
        while !training.trainer.is_finished() && training.check_finite().is_ok() {
            // A loss that is no number is an error, after which the weights are none either.
            drop(training.step());
        }
        let processes = ProcessGroup::of(Arc::new(Others(vec![Status::Failed])), 0);
        training.session.devices.processes = processes.clone();
        let outcome = training.iterate();
        assert!(processes.has_ended());
        let error = training.leave_group(outcome).unwrap_err().to_string();
        assert!(error.starts_with("process 1 failed; continue with `simile train --resume"), "{error}");
    }
}
