//! Code that `simile sweep` and `simile reproduce` share: a list of their runs, and one run of them.

use anyhow::Result;
use serde::Serialize;

use crate::cli::Runs;
use crate::console::Console;
use crate::experiment::run_outcome::RunOutcome;
use crate::experiment::several::{ListEntry, Several};
use crate::peers;

/// The end of one run.
#[derive(Serialize)]
struct Ended<'a> {
    index: usize,
    folder: String,
    row: &'a str,
    seed: u64,
    /// The reason if its numbers became infinite or NaN.
    diverged: Option<&'a str>,
}

/// True if the runs were listed, or one was run, as the arguments ask.
///
/// # Errors
/// As [`Several::one`]; a usage error if a launcher started several processes for all of the runs.
pub(super) fn listed_or_run(several: &Several<'_>, arguments: &Runs, console: Console) -> Result<bool> {
    if arguments.list {
        let listed = several.list();
        let text = || listed.iter().map(ListEntry::text).collect::<Vec<_>>().join("\n");
        console.answer(&listed, text)?;
        return Ok(true);
    }
    let Some(index) = arguments.task else {
        peers::refuse_several("do all of the runs", Some("give each an index with --task"))?;
        return Ok(false);
    };
    let outcome = several.one(index)?;
    let diverged = match &outcome {
        RunOutcome::Diverged(message) => Some(message.as_str()),
        _ => None,
    };
    let task = &several.tasks[index];
    let (folder, row, seed) = (task.folder.display().to_string(), task.row.as_str(), task.seed);
    let end = diverged.map_or_else(|| "done".to_owned(), |message| format!("diverged: {message}"));
    let ended = Ended { index, folder, row, seed, diverged };
    console.answer(&ended, || format!("{index}, {}: {end}", ended.folder))?;
    Ok(true)
}
