//! `report.html`: one file with the course and the results of a run.

mod accuracy;
mod advice;
mod chance;
pub(crate) mod charts;
pub(crate) mod curves;
pub(crate) mod gallery;
pub(crate) mod maps;
mod page;
mod parts;
pub(crate) mod picture;
mod pool;
mod results;
mod smoke;
#[cfg(test)]
pub(crate) mod testing;
mod verdict;

use std::path::Path;

use anyhow::{Context as _, Result};

pub(crate) use self::page::{document, kernel_figure, page, sheet_figure, with_code};
pub(crate) use self::parts::{table, time};
pub(crate) use self::smoke::smoke;
pub(crate) use self::verdict::verdict;
use crate::config::Recipe;
use crate::run_folder::digest::REMEDY;
use crate::run_folder::figures::Figures;
use crate::run_folder::folder::{FIGURES, METRICS, RECIPE, RESULT, RunFolder, STATE};
use crate::run_folder::record::{Measurement, RunResult};
use crate::shell::resume_command;

/// The files of a finished run.
#[derive(Debug)]
pub(crate) struct RunRecord {
    /// The folder as the user named it.
    pub(crate) place: String,
    pub(crate) recipe: String,
    pub(crate) result: RunResult,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) figures: Figures,
}

impl RunRecord {
    /// The verdict on runs of one recipe that differ in the seed alone; none on others. A variant that diverged is in none of its
    /// numbers.
    ///
    /// # Errors
    /// If a metric is not finite.
    pub(crate) fn verdict(runs: &[Self]) -> Result<Vec<String>> {
        let is_repeat = |pool: &pool::Pool<'_>| pool.runs.len() + pool.diverged.len() == runs.len();
        let recipe = runs.first().and_then(|run| Recipe::resolved(&run.recipe, Path::new(&run.place)).ok());
        match recipe.filter(|_| pool::pools(runs).iter().all(is_repeat)) {
            Some(recipe) => verdict(&recipe, &runs.iter().map(|run| &run.result).collect::<Vec<_>>()),
            None => Ok(Vec::new()),
        }
    }

    /// Reads a run folder.
    ///
    /// # Errors
    /// If it is not a run folder, or its run has not finished.
    pub(crate) fn read(place: &Path) -> Result<Self> {
        let folder = RunFolder::open(place)?;
        if !folder.path(RESULT).is_file() {
            anyhow::bail!(
                "the run in {} has not finished; continue it with `{}`",
                place.display(),
                resume_command(place)
            );
        }
        let lost = |file: &str| format!("cannot read {file} of {}; {REMEDY}", place.display());
        Ok(Self {
            place: place.display().to_string(),
            recipe: String::from_utf8_lossy(&folder.read(RECIPE)?).into_owned(),
            result: folder.read_json(RESULT).with_context(|| unreadable(place))?,
            measurements: folder.measurements().with_context(|| lost(METRICS))?,
            figures: folder.read_json(FIGURES).with_context(|| lost(FIGURES))?,
        })
    }
}

/// The failure to read the result of a run, with the remedy if its state is there, from which the result is written.
fn unreadable(place: &Path) -> String {
    let run = place.display();
    match place.join(STATE).is_dir() {
        true => format!("cannot read the result of {run}; `{}` writes it again", resume_command(place)),
        false => format!("cannot read the result of {run}; put it back from a copy"),
    }
}
