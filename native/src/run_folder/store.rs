//! The files that a run in progress writes, in an order from which it resumes after any interruption.

use std::time::Instant;

use anyhow::Result;
use simile_core::train::Trainer;

use super::checkpoint_writer::CheckpointWriter;
use super::folder::RunFolder;
use super::log::MetricsLog;
use super::state::{CheckpointKind, RunState};

/// The folder of a run in progress, its state and its log.
pub(crate) struct RunStore {
    pub(crate) folder: RunFolder,
    pub(crate) state: RunState,
    pub(crate) log: MetricsLog,
    /// The checkpoint that is being written.
    writer: Option<CheckpointWriter>,
    /// The name and the bytes of a new best network, which the next checkpoint writes. Written at once, it would keep training waiting
    /// for the disk, and for the checkpoint that is being written, which removes files that it does not list.
    best: Option<(String, Vec<u8>)>,
    /// The time at which this process began.
    started: Instant,
    /// Wall time of earlier processes, in seconds.
    seconds_before: f64,
}

impl RunStore {
    /// The folder of a run that begins with `state`, or resumes from it.
    ///
    /// # Errors
    /// If the folder cannot be written to, or its metrics differ from those that the run wrote.
    pub(crate) fn open(folder: RunFolder, state: RunState) -> Result<Self> {
        let log = MetricsLog::open(&folder, state.metrics)?;
        let (started, seconds_before) = (Instant::now(), state.seconds);
        Ok(Self { folder, state, log, writer: None, best: None, started, seconds_before })
    }

    /// Takes the state of the trainer of the variant at `at`, and writes it while the run goes on, with a new best network and the
    /// state of the run that refers to them. An earlier checkpoint is waited for.
    ///
    /// # Errors
    /// If its numbers are not finite, or the folder cannot be written to, which the next call may be the first to say.
    pub(crate) fn checkpoint(&mut self, at: usize, trainer: &Trainer, kind: CheckpointKind) -> Result<()> {
        self.checkpoint_of(at, pollster::block_on(trainer.to_bytes())?, kind)
    }

    /// The same with the bytes of the trainer's state.
    ///
    /// # Errors
    /// If the folder cannot be written to, which the next call may be the first to say.
    pub(crate) fn checkpoint_of(&mut self, at: usize, bytes: Vec<u8>, kind: CheckpointKind) -> Result<()> {
        self.end_writer()?;
        let name = self.state.register_trainer(at, &bytes, kind);
        self.update_log_and_time()?;
        let files = self.best.take().into_iter().chain([(name, bytes)]).collect();
        self.writer = Some(CheckpointWriter::begin(self.folder.clone(), self.state.clone(), files)?);
        Ok(())
    }

    /// Keeps the best network so far of the variant at `at`, from an iteration. The next checkpoint writes it, unless a better one comes
    /// first. If the process is killed before that, the run resumes from the checkpoint before, and finds it again.
    pub(crate) fn keep_best(&mut self, at: usize, iteration: u64, bytes: Vec<u8>) {
        let name = self.state.register_best(at, iteration, &bytes);
        self.best = Some((name, bytes));
    }

    /// True while a checkpoint is being written, so that another one would wait for it.
    pub(crate) fn is_writing(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| !writer.is_done())
    }

    /// Waits for the checkpoint that is being written, and writes a new best network: before anything else is written to `state/` or
    /// read from it.
    ///
    /// # Errors
    /// If one of them could not be written.
    pub(crate) fn wait_for_checkpoint(&mut self) -> Result<()> {
        self.end_writer()?;
        self.best.take().map_or(Ok(()), |(name, bytes)| self.folder.write(name, bytes))
    }

    /// Waits for the checkpoint that is being written.
    ///
    /// # Errors
    /// If it could not be written.
    fn end_writer(&mut self) -> Result<()> {
        self.writer.take().map_or(Ok(()), CheckpointWriter::end)
    }

    /// Writes the current state.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn save(&mut self) -> Result<()> {
        self.wait_for_checkpoint()?;
        self.update_log_and_time()?;
        self.state.write(&self.folder)
    }

    /// Brings log and wall time of the state up to date.
    fn update_log_and_time(&mut self) -> Result<()> {
        self.state.metrics = self.log.flush()?;
        self.state.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        Ok(())
    }
}
