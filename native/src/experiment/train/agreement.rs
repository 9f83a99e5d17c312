//! The agreement of the processes of a run before each step of a variant, and at its end.

use anyhow::{Result, anyhow};

use super::VariantTraining;
use super::loader::StepBatch;
use super::trainer::is_of_another;
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
        let status = match (&batch, interrupt::signal()) {
            (Err(_), _) => Status::Failed,
            (Ok(_), Some(signal)) => Status::Interrupted(signal),
            (Ok(_), None) if self.unshared_state.is_some() => Status::HasCheckpoint,
            (Ok(_), None) => Status::Ready,
        };
        match processes.agree(status)? {
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
                let command = self.session.resume_command();
                Err(batch
                    .err()
                    .unwrap_or_else(|| anyhow!("process {rank} failed; continue with `{command}`")))
            }
            Decision::Step | Decision::End => batch,
        }
    }

    /// Tells the other processes that the variant has ended or failed, unless they know. Their statuses may change the outcome.
    pub(super) fn leave_group(&mut self, outcome: Result<Option<Stopped>>) -> Result<Option<Stopped>> {
        let processes = self.session.devices.processes.clone();
        if processes.is_alone() || processes.has_ended() {
            return outcome;
        }
        let status = match &outcome {
            Ok(_) => Status::Ended,
            // The process that failed reports it.
            Err(error) if is_of_another(error) => Status::Ready,
            Err(_) => Status::Failed,
        };
        match (processes.agree(status)?, outcome) {
            (Decision::Fail(rank), Err(error)) if is_of_another(&error) => {
                let command = self.session.resume_command();
                Err(anyhow!("process {rank} failed; continue with `{command}`"))
            }
            (_, Err(error)) => Err(error),
            (Decision::Interrupt(signal), Ok(_)) => {
                interrupt::adopt(signal);
                Err(self.session.interrupted())
            }
            (Decision::Fail(rank), Ok(_)) => Err(anyhow!("process {rank} failed in the last step")),
            (_, outcome) => outcome,
        }
    }
}
