//! A checkpoint that a thread writes while the run goes on. The thread writes the trainer's file and that of a new best network,
//! then the state that refers to them, then removes the files of the previous state. Checkpoints without a thread have the same
//! order, so that a process may be killed at any moment.

use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, anyhow};

use crate::run_folder::folder::RunFolder;
use crate::run_folder::state::RunState;

/// A checkpoint that is being written. Until [`end`](Self::end), nothing else may be written to the folder's `state/`, because the
/// thread removes all files that its state does not name.
pub(crate) struct CheckpointWriter {
    thread: JoinHandle<Result<()>>,
}

impl CheckpointWriter {
    /// Begins to write files of the state, by their names, and the state itself, all as they are now.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(crate) fn begin(
        folder: RunFolder,
        mut state: RunState,
        files: Vec<(String, Vec<u8>)>,
    ) -> Result<Self> {
        let work = move || {
            files.into_iter().try_for_each(|(name, bytes)| folder.write(name, bytes))?;
            state.write(&folder)
        };
        let thread = thread::Builder::new().name("checkpoint".into()).spawn(work);
        Ok(Self { thread: thread.context("starting the thread that writes checkpoints")? })
    }

    /// True once [`end`](Self::end) would return at once.
    pub(crate) fn is_done(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until the checkpoint is on the disk.
    ///
    /// # Errors
    /// If the folder cannot be written to; the earlier state then remains.
    pub(crate) fn end(self) -> Result<()> {
        self.thread.join().map_err(|_| anyhow!("the thread that writes checkpoints has ended"))?
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{Changes, Recipe};
    use crate::run_folder::state::CheckpointKind;

    #[test]
    fn a_checkpoint_is_that_of_the_moment_it_was_begun_at() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        let mut state = RunState::at_start(&recipe, "cpu".into(), None).unwrap();
        state.write(&folder).unwrap();
        for iteration in 1..=20 {
            state.variants[0].iteration = iteration;
            let bytes = vec![iteration as u8; 100_000];
            let name = state.register_trainer(0, &bytes, CheckpointKind::ByTime);
            let writing =
                CheckpointWriter::begin(folder.clone(), state.clone(), vec![(name, bytes)]).unwrap();
            // The run goes on while the thread writes.
            state.variants[0].iteration += 100;
            writing.end().unwrap();
            let on_disk = RunState::read(&folder).unwrap().unwrap();
            on_disk.files.verify(&folder).unwrap();
            let trainer = on_disk.variants[0].trainer.clone().unwrap();
            assert_eq!(
                (on_disk.variants[0].iteration, on_disk.files.read(&folder, &trainer).unwrap()[0]),
                (iteration, iteration as u8)
            );
        }
        let is_of_variant = |name: &str| name.starts_with("arm-");
        let entries = fs::read_dir(folder.path("state")).unwrap().flatten();
        assert_eq!(entries.filter(|entry| is_of_variant(&entry.file_name().to_string_lossy())).count(), 1);
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_is_an_error_and_leaves_the_one_before() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        let mut state = RunState::at_start(&recipe, "cpu".into(), None).unwrap();
        state.write(&folder).unwrap();
        let before = RunState::read(&folder).unwrap();
        state.variants[0].iteration = 3;
        let best = state.register_best(0, 3, &[0]);
        let files = vec![(best, vec![0]), ("nowhere/arm-0.safetensors".to_owned(), vec![1])];
        let error = CheckpointWriter::begin(folder.clone(), state, files).unwrap().end().unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
        assert_eq!(RunState::read(&folder).unwrap(), before);
    }
}
