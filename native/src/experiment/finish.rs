//! The end of a run: result and report, out of what its arms left behind. Neither data nor a device is needed for it.

use anyhow::Result;

use super::folder::{FIGURES, REPORT, RESULT, RunFolder};
use super::record::RunResult;
use super::state::Standing;
use crate::config::Recipe;
use crate::report::{RunRecord, page};

/// Writes result and report of a run whose arms are all done, and only then that it has finished.
///
/// # Errors
/// If a file of an arm is missing or another one, or the folder cannot be written to.
pub(super) fn finish(folder: &RunFolder, recipe: &Recipe, mut standing: Standing) -> Result<RunResult> {
    if let Some(figures) = standing.figures(folder)? {
        standing.keep(folder, FIGURES, &serde_json::to_vec_pretty(&figures)?)?;
        standing.move_figures(FIGURES);
    }
    let result = RunResult {
        recipe: recipe.name.clone(),
        condition: recipe.probe.condition.clone(),
        seed: recipe.train.seed,
        device: standing.device.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        seconds: standing.seconds,
        arms: standing.results(),
        untrained: standing.untrained.clone(),
        base_rates: standing.base_rates.clone(),
    };
    folder.write_json(RESULT, &result)?;
    let record = RunRecord::read(folder.root())?;
    folder.write(REPORT, page(&[record])?)?;
    standing.finished = true;
    standing.write(folder)?;
    Ok(result)
}
