//! The runs of a sweep or a table: listed, all run here, run one by one anywhere, and collected.
//!
//! The index of a run depends on the command alone, not on the machine or on the runs that are done.

pub(crate) mod outcome;
mod side_by_side;
pub(crate) mod task;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use self::outcome::{RunOutcome, read_outcome, read_outcome_of, run_or_resume};
use self::side_by_side::side_by_side;
use self::task::{ListEntry, Missing, Task};
use crate::config::Recipe;
use crate::console::line;
use crate::devices::{DeviceChoice, DeviceSet};
use crate::exit::{Interrupted, usage};
use crate::interrupt;
use crate::run_folder::digest::Digest;
use crate::run_folder::folder::{self, process_at_work};
use crate::run_folder::record::devices_of_all;

/// The file that says that the runs of a folder are begun one by one.
const BY_TASK: &str = "by-task.txt";
const BY_TASK_TEXT: &str = "The runs of this folder were begun with --task. The same command without it collects them; with --jobs N it runs \
     those that are missing.\n";
/// Time between two checks of a run that another process works on.
const POLL: Duration = Duration::from_secs(2);

/// The metrics of a run, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RunMetrics<'a> {
    /// Their names, before it begins.
    Names(&'a BTreeSet<String>),
    Outcome(&'a RunOutcome),
}

/// The runs of one command, with the recipe of each.
pub(crate) struct Several<'a> {
    pub(crate) tasks: Vec<Task>,
    /// The folder of all of them.
    pub(crate) out: &'a Path,
    pub(crate) data: Option<&'a Path>,
    /// Devices that runs at the same time share.
    pub(crate) devices: &'a [DeviceChoice],
    /// Runs at a time; none if the command does not say.
    pub(crate) jobs: Option<usize>,
    pub(crate) recipe: &'a (dyn Fn(usize) -> Result<Recipe> + Sync),
    /// Looks at the metrics of each run, so that a fault of the command that only these show ends it before anything is trained.
    pub(crate) check: &'a (dyn Fn(RunMetrics<'_>) -> Result<()> + Sync),
}

impl Several<'_> {
    /// All runs, in order.
    pub(crate) fn list(&self) -> Vec<ListEntry<'_>> {
        self.tasks.iter().enumerate().map(|(index, task)| ListEntry::of(index, task)).collect()
    }

    /// True if runs are read and none is begun: they were begun one by one, and the command does not say how many to run
    /// at a time.
    pub(crate) fn collects(&self) -> bool {
        self.jobs.is_none() && self.out.join(BY_TASK).is_file()
    }

    /// Checks that runs with the same section `[data]`, some of them of other machines, were of the same pictures.
    fn check_same_pictures(&self, outcomes: &[RunOutcome]) -> Result<()> {
        let mut first: Vec<(Recipe, Digest, usize)> = Vec::new();
        for (index, outcome) in outcomes.iter().enumerate() {
            let Some(result) = outcome.done() else { continue };
            let (Some(files), recipe) = (result.picture_files, (self.recipe)(index)?) else { continue };
            let is_alike = |(other, ..): &&(Recipe, Digest, usize)| {
                other.data == recipe.data && other.selection == recipe.selection
            };
            match first.iter().find(is_alike) {
                Some((_, others, before)) if *others != files => {
                    let [one, other] = [*before, index].map(|index| self.tasks[index].folder.display());
                    return Err(usage(format_args!(
                        "{one} and {other} were trained on different pictures, classes or attributes; remove the runs that do not belong"
                    )));
                }
                Some(_) => {}
                None => first.push((recipe, files, index)),
            }
        }
        Ok(())
    }

    /// Runs or resumes the unfinished runs. If the runs are started one by one, it only reads the finished ones.
    ///
    /// # Errors
    /// A usage error if there are more devices than runs at a time; any failure of a run except divergence, or of the check.
    pub(crate) fn all(&self) -> Result<Vec<RunOutcome>> {
        if self.collects() { self.collect() } else { self.run_all() }
    }

    /// Reads the outcomes of all runs.
    fn collect(&self) -> Result<Vec<RunOutcome>> {
        line(format_args!(
            "{} has runs that were started with --task: this command starts none",
            self.out.display()
        ));
        let outcomes = (0..self.tasks.len()).map(|index| self.labelled(index, self.read(index)));
        let outcomes: Vec<RunOutcome> = outcomes.collect::<Result<_>>()?;
        self.check_same_pictures(&outcomes)?;
        Ok(outcomes)
    }

    /// Runs or resumes all runs, as many at a time as there are devices, or as the command says.
    fn run_all(&self) -> Result<Vec<RunOutcome>> {
        let jobs = match self.jobs {
            Some(jobs) if jobs < self.devices.len() => {
                let devices = self.devices.len();
                return Err(usage(format_args!(
                    "--jobs {jobs} leaves some of {devices} devices idle, because a run has one; leave it out, or name {jobs}"
                )));
            }
            jobs => jobs.unwrap_or(self.devices.len()),
        };
        interrupt::listen()?;
        let indices: Vec<usize> = (0..self.tasks.len()).collect();
        let label = |&index: &usize| format!("{}, seed {}", self.tasks[index].group, self.tasks[index].seed);
        side_by_side(
            jobs,
            &indices,
            |&index| self.tasks[index].after,
            label,
            |&index, place| self.labelled(index, self.run(index, self.device(place))),
        )
    }

    /// Runs or resumes one run, after the run that must be there first, for which it waits while another process works
    /// on that.
    ///
    /// # Errors
    /// A usage error if there is no such run, or several devices; a failure if another process works on it, the earlier
    /// run is not there, or the run fails, but for divergence.
    pub(crate) fn one(&self, index: usize) -> Result<RunOutcome> {
        let count = self.tasks.len();
        let Some(task) = self.tasks.get(index) else {
            return Err(usage(format_args!(
                "--task {index}: there are {count} runs, counted from 0; --list lists them"
            )));
        };
        if self.devices.len() > 1 {
            return Err(usage("a run has one device; name one with --device beside --task"));
        }
        interrupt::listen()?;
        let mark = self.out.join(BY_TASK);
        let is_first = !mark.is_file();
        if is_first {
            fs::create_dir_all(self.out).with_context(|| format!("cannot make {}", self.out.display()))?;
            folder::write(&mark, BY_TASK_TEXT.as_bytes())?;
        }
        let waited = task.after.map_or(Ok(()), |before| self.wait_for(before));
        let outcome = waited.and_then(|()| self.labelled(index, self.run(index, self.device(0))));
        // Where nothing was begun, nothing is to be collected.
        let has_failed = matches!(outcome, Err(_) | Ok(RunOutcome::Missing(_)));
        if is_first && has_failed && !self.tasks.iter().any(Task::is_begun) {
            let _ = fs::remove_file(&mark);
        }
        match outcome? {
            RunOutcome::Missing(reason) => anyhow::bail!(reason),
            outcome => Ok(outcome),
        }
    }

    /// The runs without a result. Those that lack something on this machine are not counted.
    pub(crate) fn missing(&self, outcomes: &[RunOutcome]) -> Vec<Missing> {
        let missing = |(index, (task, outcome)): (usize, (&Task, &RunOutcome))| match outcome {
            RunOutcome::Missing(reason) if task.missing.is_none() => {
                Some(Missing { index, folder: task.folder.display().to_string(), reason: reason.clone() })
            }
            _ => None,
        };
        self.tasks.iter().zip(outcomes).enumerate().filter_map(missing).collect()
    }

    fn run(&self, index: usize, device: DeviceChoice) -> Result<RunOutcome> {
        let task = &self.tasks[index];
        if let Some(missing) = task.missing.as_ref().filter(|_| !task.has_ended()) {
            return Ok(RunOutcome::Missing(missing.clone()));
        }
        let outcome = match self.outcome_by_predecessor(index) {
            Some(outcome) => outcome,
            None => {
                let check = |names: &BTreeSet<String>| (self.check)(RunMetrics::Names(names));
                run_or_resume(&task.folder, (self.recipe)(index)?, self.data, device, &check)?
            }
        };
        (self.check)(RunMetrics::Outcome(&outcome))?;
        Ok(outcome)
    }

    fn read(&self, index: usize) -> Result<RunOutcome> {
        match self.outcome_by_predecessor(index) {
            Some(outcome) => Ok(outcome),
            None => read_outcome_of(&self.tasks[index].folder, (self.recipe)(index)?),
        }
    }

    /// The outcome of a run whose earlier run is not there or diverged; none if nothing hinders it.
    fn outcome_by_predecessor(&self, index: usize) -> Option<RunOutcome> {
        let before = self.tasks[index].after?;
        match read_outcome(&self.tasks[before].folder) {
            Some(RunOutcome::Done(_)) => None,
            Some(RunOutcome::Diverged(_)) => {
                let group = &self.tasks[before].group;
                Some(RunOutcome::Diverged(format!("it needs row `{group}`, which diverged")))
            }
            _ => Some(RunOutcome::Missing(format!("it needs run {before}, which is missing"))),
        }
    }

    /// Waits while another process works on a run.
    fn wait_for(&self, before: usize) -> Result<()> {
        let folder = &self.tasks[before].folder;
        let mut is_announced = false;
        while read_outcome(folder).is_none() {
            let Some(process) = process_at_work(folder) else {
                // It may have ended between the two checks.
                if read_outcome(folder).is_some() {
                    break;
                }
                anyhow::bail!(
                    "run {before}, {}, must be there first; the same command with --task {before} runs it",
                    folder.display()
                );
            };
            if interrupt::is_requested() {
                return Err(Interrupted::to_continue().into());
            }
            if !is_announced {
                line(format_args!("waiting for run {before}, on which {process} works"));
                is_announced = true;
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// The device of the run at a place among those at the same time.
    fn device(&self, place: usize) -> DeviceChoice {
        self.devices.get(place % self.devices.len().max(1)).copied().unwrap_or(DeviceChoice::AUTO)
    }

    fn labelled(&self, index: usize, result: Result<RunOutcome>) -> Result<RunOutcome> {
        let Task { group, seed, .. } = &self.tasks[index];
        result.with_context(|| format!("row `{group}`, seed {seed}"))
    }
}

/// The devices of the runs that have finished, or those that are asked for if none has.
///
/// # Errors
/// A device is not there.
pub(crate) fn devices_of(outcomes: &[RunOutcome], asked: &[DeviceChoice]) -> Result<String> {
    let devices = devices_of_all(outcomes.iter().filter_map(RunOutcome::done));
    match devices.is_empty() {
        true => Ok(DeviceSet::open(asked)?.to_string()),
        false => Ok(devices),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::devices::DeviceName;
    use crate::exit::Usage;
    use crate::run_folder::record::EarlierDevice;
    use crate::run_folder::testing::{run, variant};

    #[test]
    fn runs_at_the_same_time_have_a_device_each() {
        let devices = [0, 1].map(|index| DeviceChoice { name: DeviceName::Cuda, index });
        let recipe = |_: usize| -> Result<Recipe> { anyhow::bail!("no run is begun") };
        let several = |jobs| Several {
            tasks: Vec::new(),
            out: Path::new("nowhere"),
            data: None,
            devices: &devices,
            jobs,
            recipe: &recipe,
            check: &|_| Ok(()),
        };
        let of = |place| several(None).device(place).index;
        assert_eq!([of(0), of(1), of(2), of(3)], [0, 1, 0, 1]);
        let error = several(Some(1)).all().unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().contains("idle"), "{error}");
        assert!(several(Some(2)).all().unwrap().is_empty() && several(None).all().unwrap().is_empty());
    }

    /// The command without `--task` then only collected, and began nothing.
    #[test]
    fn a_run_that_cannot_begin_leaves_no_mark() {
        let place = tempfile::tempdir().unwrap();
        let recipe = |_: usize| -> Result<Recipe> { anyhow::bail!("no run is begun") };
        let task = |group: &str, after: Option<usize>, missing: Option<&str>| Task {
            group: group.into(),
            seed: 0,
            folder: place.path().join(group),
            after,
            missing: missing.map(str::to_owned),
        };
        let several = Several {
            tasks: vec![task("first", None, Some("its data are not here")), task("second", Some(0), None)],
            out: place.path(),
            data: None,
            devices: &[DeviceChoice::AUTO],
            jobs: None,
            recipe: &recipe,
            check: &|_| Ok(()),
        };
        for (index, reason) in [(0, "its data are not here"), (1, "run 0, ")] {
            let error = several.one(index).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
            assert_eq!(folder::entries(place.path()), [""; 0], "run {index}");
        }
    }

    #[test]
    fn all_devices_of_runs_that_finished_are_named() {
        let one = run("a", 0, "", vec![variant("x", 0.5)]).result;
        let mut other = run("b", 1, "", vec![variant("x", 0.5)]).result;
        let (device, variant, others) = ("gpu".into(), "x".into(), BTreeMap::new());
        other.earlier_devices = vec![EarlierDevice { device, variant, iteration: 1, others }];
        let outcomes = [one.clone(), other, one].map(|result| RunOutcome::Done(Box::new(result)));
        let devices = devices_of(&outcomes, &[DeviceChoice::AUTO]).unwrap();
        assert_eq!(devices, "cpu; gpu until iteration 1 of x, then cpu");
    }
}
