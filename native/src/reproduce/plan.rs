//! The runs of a table, each in a folder of its own. A run that is done is not done again, and one that was interrupted
//! goes on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::table::{Row, Scale, Table};
use crate::device::DeviceName;
use crate::run::folder::slug;
use crate::run::jobs::side_by_side;
use crate::run::record::ArmResult;
use crate::run::start::settle;

/// What is asked for beside the table.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    pub(crate) scale: Scale,
    pub(crate) seeds: u64,
    pub(crate) data: Option<&'a Path>,
    pub(crate) device: DeviceName,
    pub(crate) out: &'a Path,
    /// Runs at a time.
    pub(crate) jobs: usize,
}

/// The results of one row, a run for each seed; none for a row that cannot be run.
#[derive(Debug, Clone)]
pub(crate) struct RowResult<'t> {
    pub(crate) row: &'t Row,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) runs: Vec<ArmResult>,
}

/// One run of a row.
struct Task<'t> {
    row: &'t Row,
    seed: u64,
    folder: PathBuf,
}

impl Plan<'_> {
    /// Runs what is not done, and reads what is.
    ///
    /// # Errors
    /// Whatever stops a run; what was done before stays and is not done again.
    pub(crate) fn run<'t>(&self, table: &'t Table, rows: &[&'t Row]) -> Result<Vec<RowResult<'t>>> {
        let can_run = || rows.iter().copied().filter(|row| table.missing(row).is_none());
        // All recipes first: a row that cannot be run is known before hours were spent on the others.
        for row in can_run() {
            table.recipe_of(row, self.scale, 0)?;
        }
        // Seed by seed, so that a table that is interrupted has all of its rows as early as possible.
        let of_seed = |seed| can_run().map(move |row| Task { row, seed, folder: self.folder(row, seed) });
        let tasks: Vec<Task<'t>> = (0..self.seeds).flat_map(of_seed).collect();
        let label = |task: &Task<'_>| format!("{}, seed {}", task.row.name, task.seed);
        let finished = side_by_side(self.jobs, &tasks, label, |task| {
            let recipe = table.recipe_of(task.row, self.scale, task.seed)?;
            settle(&task.folder, recipe, self.data, self.device)
                .with_context(|| format!("row `{}`, seed {}", task.row.name, task.seed))
        })?;

        let mut results: Vec<RowResult<'t>> =
            rows.iter().map(|row| RowResult { row, folders: Vec::new(), runs: Vec::new() }).collect();
        for (task, run) in tasks.into_iter().zip(finished) {
            let of_row = results.iter_mut().filter(|result| std::ptr::eq(result.row, task.row));
            for result in of_row.take(1) {
                result.runs.extend(run.arms.clone().into_iter().next());
                result.folders.push(task.folder.clone());
            }
        }
        Ok(results)
    }

    fn folder(&self, row: &Row, seed: u64) -> PathBuf {
        self.out.join(slug(&row.name)).join(format!("seed-{seed}"))
    }
}
