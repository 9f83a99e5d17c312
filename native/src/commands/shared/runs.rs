//! Code that commands of several runs share: a list of them, one run of them, and the check of their folder.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::cli::Runs;
use crate::console::Console;
use crate::exit::usage;
use crate::experiment::several::Several;
use crate::experiment::several::outcome::RunOutcome;
use crate::experiment::several::task::ListEntry;
use crate::peers;
use crate::run_folder::folder::RECIPE;

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
pub(in crate::commands) fn listed_or_run(
    several: &Several<'_>,
    arguments: &Runs,
    console: Console,
) -> Result<bool> {
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
    let (folder, row, seed) = (task.folder.display().to_string(), task.group.as_str(), task.seed);
    let end = diverged.map_or_else(|| "done".to_owned(), |message| format!("diverged: {message}"));
    let ended = Ended { index, folder, row, seed, diverged };
    console.answer(&ended, || format!("{index}, {}: {end}", ended.folder))?;
    Ok(true)
}

/// Refuses the folder of one run as that of several.
///
/// # Errors
/// A usage error if it is one.
pub(in crate::commands) fn refuse_run(root: &Path) -> Result<()> {
    match root.join(RECIPE).is_file() {
        true => Err(usage(format_args!(
            "{} holds a run, and not several; name another folder with --out",
            root.display()
        ))),
        false => Ok(()),
    }
}
