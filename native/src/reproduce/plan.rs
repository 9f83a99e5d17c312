//! The runs of a table, one after the other, each in a folder of its own. A run that is done is not done again, and one
//! that was interrupted goes on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::table::{Row, Scale, Table};
use crate::console::line;
use crate::device::DeviceName;
use crate::exit::usage;
use crate::recipe::Recipe;
use crate::run::folder::{RECIPE, RESULT, RunFolder, slug};
use crate::run::record::{ArmResult, RunResult};
use crate::run::start::{begin, recipe_of, resume};

/// What is asked for beside the table.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    pub(crate) scale: Scale,
    pub(crate) seeds: u64,
    pub(crate) data: Option<&'a Path>,
    pub(crate) device: DeviceName,
    pub(crate) out: &'a Path,
}

/// The results of one row, a run for each seed.
#[derive(Debug, Clone)]
pub(crate) struct RowResult<'t> {
    pub(crate) row: &'t Row,
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) runs: Vec<ArmResult>,
}

impl Plan<'_> {
    /// Runs what is not done, and reads what is.
    ///
    /// # Errors
    /// Whatever stops a run; what was done before stays and is not done again.
    pub(crate) fn run<'t>(&self, table: &'t Table, rows: &[&'t Row]) -> Result<Vec<RowResult<'t>>> {
        // All recipes first: a row that cannot be run is known before hours were spent on the others.
        for row in rows {
            table.recipe_of(row, self.scale, 0)?;
        }
        let mut results: Vec<RowResult<'t>> =
            rows.iter().map(|row| RowResult { row, folders: Vec::new(), runs: Vec::new() }).collect();
        // Seed by seed, so that a table that is interrupted has all of its rows as early as possible.
        for seed in 0..self.seeds {
            for result in &mut results {
                let folder = self.out.join(slug(&result.row.name)).join(format!("seed-{seed}"));
                let recipe = table.recipe_of(result.row, self.scale, seed)?;
                let finished = self.finished(&folder, recipe).with_context(|| {
                    format!("row `{}`, seed {seed}, in {}", result.row.name, folder.display())
                })?;
                result.runs.extend(finished.arms.into_iter().next());
                result.folders.push(folder);
            }
        }
        Ok(results)
    }

    /// The result of the run in `folder`, which is begun, continued or read.
    fn finished(&self, folder: &Path, recipe: Recipe) -> Result<RunResult> {
        if !folder.join(RECIPE).is_file() {
            let data = self.data.map(Path::to_owned);
            let (_, session) = begin(recipe, Some(folder), data, self.device.open()?)?;
            return session.run();
        }
        let standing = RunFolder::open(folder)?;
        if recipe_of(&standing)? != recipe {
            return Err(usage(format_args!(
                "{} holds a run of another recipe; name another folder with --out, or remove it",
                folder.display()
            )));
        }
        if standing.path(RESULT).is_file() {
            line(format_args!("{}: done before", folder.display()));
            return standing.read_json(RESULT);
        }
        let (_, session) = resume(folder, self.data.map(Path::to_owned), self.device)?;
        session.run()
    }
}
