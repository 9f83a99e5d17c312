//! The checkpoints of a variant: how each is made, and when one is due.

use std::time::Instant;

use anyhow::Result;

use super::trainer::is_divergence;
use super::variant_training::VariantTraining;
use crate::run_folder::state::CheckpointKind;

impl VariantTraining<'_> {
    /// Makes a checkpoint of the state between two steps, which the other processes do not get: they take no further step.
    pub(super) fn checkpoint_without_sharing(&mut self) -> Result<()> {
        self.events.show()?;
        self.session.store.checkpoint(self.at, &self.trainer, CheckpointKind::ByTime)
    }

    /// As [`checkpoint_without_sharing`](Self::checkpoint_without_sharing), where all processes end for another reason: no checkpoint is
    /// made of numbers that are not finite. The run resumes from the checkpoint before, and then finds them again.
    pub(super) fn checkpoint_if_finite(&mut self) -> Result<()> {
        match self.checkpoint_without_sharing() {
            Err(error) if is_divergence(&error) => Ok(()),
            result => result,
        }
    }

    /// Makes a checkpoint if it is time for one by count, by the clock, or because the run ends. One that is not the last is
    /// left out if the one before is still being written, or if checkpoints would take more than a hundredth of the time:
    /// no number depends on which are made.
    pub(super) fn checkpoint_if_due(&mut self, stop_requested: bool) -> Result<()> {
        let by_count = self.is_due(self.session.recipe.train.checkpoint_every as u64);
        let is_last = self.trainer.is_finished() || stop_requested;
        if !by_count && !is_last && !self.clock.is_due() {
            return Ok(());
        }
        if !is_last && !self.is_free_for_checkpoint() {
            return if by_count { self.check_finite() } else { Ok(()) };
        }
        let began = Instant::now();
        self.events.show()?;
        // The state to restore is one before the last step until the last network is measured.
        let kind = match by_count && !self.trainer.is_finished() {
            true => CheckpointKind::ByCount,
            false => CheckpointKind::ByTime,
        };
        let result = self.checkpoint_and_share(kind);
        self.clock.rewind(began.elapsed());
        match result {
            // Divergence is detected only at steps that do not depend on a clock or a signal.
            Err(error) if !by_count && is_divergence(&error) => Ok(()),
            result => result,
        }
    }

    /// Makes a checkpoint, and keeps its bytes for the other processes, if there are any.
    fn checkpoint_and_share(&mut self, kind: CheckpointKind) -> Result<()> {
        let bytes = pollster::block_on(self.trainer.to_bytes())?;
        let shared = (!self.session.devices.processes.is_alone()).then(|| bytes.clone());
        self.session.store.checkpoint_of(self.at, bytes, kind)?;
        self.unshared_state = shared;
        Ok(())
    }

    /// True if a checkpoint would neither wait for the one before nor take more than its share of the time. Several
    /// processes make each one: they could not repeat steps.
    fn is_free_for_checkpoint(&self) -> bool {
        !self.session.devices.processes.is_alone()
            || (self.clock.affords_checkpoint() && !self.session.store.is_writing())
    }

    /// Finds divergence at the step at which the checkpoint that is left out would have found it.
    pub(super) fn check_finite(&mut self) -> Result<()> {
        let began = Instant::now();
        if !pollster::block_on(self.trainer.is_finite())? {
            // Names the first tensor that is not.
            pollster::block_on(self.trainer.to_bytes())?;
        }
        self.clock.spend_on_check(began.elapsed());
        Ok(())
    }
}
