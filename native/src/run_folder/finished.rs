//! The files of a finished run.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::run_folder::digest::REMEDY;
use crate::run_folder::figures::Figures;
use crate::run_folder::folder::{FIGURES, METRICS, RECIPE, RESULT, RunFolder, STATE};
use crate::run_folder::record::{Measurement, RunResult};
use crate::shell::resume_command;

/// A finished run, as its folder holds it.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    /// Its folder as the user named it.
    pub(crate) folder: String,
    pub(crate) recipe: String,
    pub(crate) result: RunResult,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) figures: Figures,
}

impl FinishedRun {
    /// Reads a run folder.
    ///
    /// # Errors
    /// If it is not a run folder, or its run has not finished.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let files = RunFolder::open(path)?;
        if !files.path(RESULT).is_file() {
            anyhow::bail!(
                "the run in {} has not finished; continue it with `{}`",
                path.display(),
                resume_command(path)
            );
        }
        let lost = |file: &str| format!("cannot read {file} of {}; {REMEDY}", path.display());
        Ok(Self {
            folder: path.display().to_string(),
            recipe: String::from_utf8_lossy(&files.read(RECIPE)?).into_owned(),
            result: files.read_json(RESULT).with_context(|| unreadable(path))?,
            measurements: files.measurements().with_context(|| lost(METRICS))?,
            figures: files.read_json(FIGURES).with_context(|| lost(FIGURES))?,
        })
    }
}

/// The failure to read the result of a run, with the remedy if its state is there, from which the result is written.
fn unreadable(path: &Path) -> String {
    let run = path.display();
    match path.join(STATE).is_dir() {
        true => format!("cannot read the result of {run}; `{}` writes it again", resume_command(path)),
        false => format!("cannot read the result of {run}; put it back from a copy"),
    }
}
