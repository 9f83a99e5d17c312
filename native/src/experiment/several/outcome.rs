//! The outcome of one of several runs: of one that begins, that resumes, or that has finished before.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use toml::Value;

use crate::config::Recipe;
use crate::config::difference::decisive;
use crate::console::line;
use crate::devices::{DeviceChoice, DeviceSet};
use crate::exit::{Usage, message_with_causes, usage};
use crate::experiment::prepare::splits::Splits;
use crate::experiment::prepare::{prior, weights};
use crate::experiment::resume::recipe::PRIOR;
use crate::experiment::resume::same_data::check_same_pictures;
use crate::experiment::resume::{ResumeOptions, has_result, recipe_of, resume};
use crate::experiment::run::{CheckMetrics, run};
use crate::experiment::train::trainer::is_divergence;
use crate::peers::ProcessGroup;
use crate::run_folder::folder::{RECIPE, RESULT, RunFolder, process_at_work};
use crate::run_folder::lock::InUse;
use crate::run_folder::record::RunResult;
use crate::run_folder::state::RunState;

/// The outcome of one of several runs.
#[derive(Debug)]
pub(crate) enum RunOutcome {
    Done(Box<RunResult>),
    /// The run diverged: its numbers became infinite or NaN. Holds the message.
    Diverged(String),
    /// The run has no result yet, and this process does not work on it. Holds the reason.
    Missing(String),
}

/// Begins or resumes the run in `folder`, or reads its result if it has finished. The outcome is [`RunOutcome::Missing`] if another
/// process works on it.
///
/// # Errors
/// A usage error if the folder holds a run of another recipe or of other data; any failure of the run except divergence; before it
/// begins, as the check of its metrics.
pub(crate) fn run_or_resume(
    folder: &Path,
    recipe: Recipe,
    data: Option<&Path>,
    device: DeviceChoice,
    check: CheckMetrics<'_>,
) -> Result<RunOutcome> {
    match result_of(folder, recipe, data, device, check) {
        Ok(result) => Ok(RunOutcome::of(result)),
        Err(error) if is_divergence(&error) => Ok(RunOutcome::Diverged(message_with_causes(&error))),
        Err(error) if error.is::<InUse>() => Ok(RunOutcome::Missing(message_with_causes(&error))),
        Err(error) => Err(error),
    }
}

/// Reads the outcome of the run in `folder`, without running anything.
///
/// # Errors
/// A usage error if the folder holds a run of another recipe; a failure if a file is damaged.
pub(crate) fn read_outcome_of(folder: &Path, recipe: Recipe) -> Result<RunOutcome> {
    let worked_on = process_at_work(folder).map(|process| format!("{process} works on it"));
    if !folder.join(RECIPE).is_file() {
        return Ok(RunOutcome::Missing(worked_on.unwrap_or_else(|| "not begun".into())));
    }
    let run_folder = RunFolder::open(folder)?;
    refuse_another(&run_folder, recipe)?;
    Ok(match has_result(&run_folder) {
        true => RunOutcome::of(run_folder.read_json(RESULT)?),
        false => RunOutcome::Missing(worked_on.unwrap_or_else(|| "begun and not finished".into())),
    })
}

/// Reads the outcome of the run in `folder`, whatever its recipe; `None` if it has not finished.
pub(crate) fn read_outcome(folder: &Path) -> Option<RunOutcome> {
    let run_folder = RunFolder::open(folder).ok()?;
    run_folder.read_json(RESULT).ok().map(RunOutcome::of)
}

impl RunOutcome {
    fn of(result: RunResult) -> Self {
        match result.diverged() {
            Some(message) => Self::Diverged(message.to_owned()),
            None => Self::Done(Box::new(result)),
        }
    }

    /// The result of a run that has one.
    pub(crate) fn done(&self) -> Option<&RunResult> {
        match self {
            Self::Done(result) => Some(result),
            Self::Diverged(_) | Self::Missing(_) => None,
        }
    }
}

fn result_of(
    folder: &Path,
    recipe: Recipe,
    data: Option<&Path>,
    device: DeviceChoice,
    check: CheckMetrics<'_>,
) -> Result<RunResult> {
    if !folder.join(RECIPE).is_file() {
        let devices = DeviceSet::open(&[device])?;
        match run(recipe.clone(), Some(folder), data.map(Path::to_owned), devices, check) {
            // Another process has begun this run in the meantime.
            Err(error) if error.is::<Usage>() && folder.join(RECIPE).is_file() => {}
            ran => return Ok(ran?.1),
        }
    }
    let run_folder = RunFolder::open(folder)?;
    let moved = Vec::from_iter(moved_prior(&recipe, &recipe_of(&run_folder)?));
    refuse_another(&run_folder, recipe.clone())?;
    if has_result(&run_folder) {
        refuse_other_data(&run_folder, &recipe, data)?;
        line(format_args!("{}: done before", folder.display()));
        return run_folder.read_json(RESULT);
    }
    let (processes, devices) = (ProcessGroup::alone(), [device]);
    let options =
        ResumeOptions { data, devices: &devices, set: &moved, processes: &processes, check: Some(check) };
    Ok(resume(folder, options)?.1)
}

/// The setting with which a run resumes whose prior, the run of an earlier row, was moved.
fn moved_prior(asked: &Recipe, begun: &Recipe) -> Option<String> {
    let (asked, begun) = (asked.data.prior.as_ref()?, begun.data.prior.as_ref()?);
    prior::absent(begun)?;
    Some(format!("{PRIOR}={}", Value::from(asked.model.to_str()?)))
}

/// The last two folders of a path, `ROW/seed-N` of a run of `reproduce`.
fn row_and_seed(path: &Path) -> [Option<&OsStr>; 2] {
    [path.parent().and_then(Path::file_name), path.file_name()]
}

/// Refuses a folder with a run of another recipe, or with one that has not followed it from its first step.
///
/// # Errors
/// A usage error that names the first key that differs; a failure if a file is damaged.
pub(crate) fn refuse_another(run_folder: &RunFolder, recipe: Recipe) -> Result<()> {
    let (mut asked, mut begun) = (recipe, recipe_of(run_folder)?);
    if asked.encoder.weights.is_some() && asked.data.normalise.is_none() {
        // The run then took its normalisation from the weights.
        asked.data.normalise.clone_from(&begun.data.normalise);
    }
    // The recipe may leave this to the devices, which decided when the run began: a CPU leaves it out, which is false.
    let begun_with = *begun.train.drop_last.get_or_insert(false);
    asked.train.drop_last.get_or_insert(begun_with);
    // Without a condition in the begun run, its data had no attributes.
    asked.probe.drop_absent_condition(!begun.probe.condition.is_empty());
    if weights::are_those_of(&asked, run_folder) {
        // The path of the weights may have changed.
        asked.encoder.weights.clone_from(&begun.encoder.weights);
    }
    if let (Some(asked), Some(begun)) = (&mut asked.data.prior, &begun.data.prior) {
        // So may that of a prior, the run of an earlier row: its folder was moved, or is named in another way.
        if row_and_seed(&asked.model) == row_and_seed(&begun.model) {
            asked.model.clone_from(&begun.model);
        }
    }
    match decisive(&begun, &asked)?.first() {
        Some(difference) => Err(usage(format_args!(
            "{} holds a run of another recipe, whose `{}` is {}, here {}; name another folder with --out, or remove it",
            run_folder.root().display(),
            difference.key,
            difference.one(),
            difference.other()
        ))),
        None => refuse_longer(run_folder, begun.train.iterations),
    }
}

/// Refuses a run that was made longer: it followed the schedule of its earlier length up to there, so its numbers need not be those
/// of a run that had its present length from the beginning.
fn refuse_longer(run_folder: &RunFolder, iterations: usize) -> Result<()> {
    let extended_at = match run_folder.read_json::<RunResult>(RESULT) {
        Ok(result) => result.extended_at,
        // It has not reached its new end.
        Err(_) => {
            RunState::read(run_folder).ok().flatten().map(|state| state.extended_at).unwrap_or_default()
        }
    };
    match extended_at.first() {
        Some(planned) => Err(usage(format_args!(
            "{} holds a run that was planned for {planned} iterations and made longer, so its numbers need not be those of a run \
             of {iterations} from the beginning; name another folder with --out, or move it",
            run_folder.root().display()
        ))),
        None => Ok(()),
    }
}

/// Refuses a finished run of other pictures or labels than those in the folder `data`. Data sets of authors are always the same.
fn refuse_other_data(run_folder: &RunFolder, recipe: &Recipe, data: Option<&Path>) -> Result<()> {
    let (Some(data), true) = (data, recipe.data.dataset.is_own()) else { return Ok(()) };
    check_same_pictures(run_folder.root(), &Splits::of(recipe, Some(data))?, &recipe.data)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::Changes;
    use crate::data::PriorSection;
    use crate::run_folder::finished::FinishedRun;
    use crate::run_folder::testing::{run, variant};

    #[test]
    fn a_prior_that_was_moved_is_named_where_it_is() {
        let place = tempfile::tempdir().unwrap();
        let with_prior = |path: PathBuf| {
            let mut recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
            recipe.data.prior = Some(PriorSection::of(path));
            recipe
        };
        let (there, gone) = (with_prior(place.path().to_owned()), with_prior("it's \"gone\"/seed-0".into()));
        assert_eq!(moved_prior(&gone, &there), None);
        let setting = moved_prior(&there, &gone).unwrap();
        assert_eq!(gone.with(&[setting]).unwrap().data.prior, there.data.prior);
    }

    #[test]
    fn a_run_that_was_made_longer_is_not_taken_for_a_straight_one() {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&place.path().join("seed-0")), "x").unwrap();
        let FinishedRun { recipe, mut result, .. } = run("a", 0, "", vec![variant("x", 0.5)]);
        folder.write(RECIPE, &recipe).unwrap();
        let recipe = recipe_of(&folder).unwrap();
        let mut refused = |extended_at: &[usize]| {
            result.extended_at = extended_at.to_vec();
            folder.write_result(&result).unwrap();
            refuse_another(&folder, recipe.clone()).err()
        };
        assert!(refused(&[]).is_none());
        let error = refused(&[1]).unwrap();
        assert!(
            error.is::<Usage>() && error.to_string().contains("for 1 iterations and made longer"),
            "{error}"
        );
        assert!(read_outcome_of(folder.root(), recipe).is_err());
    }
}
