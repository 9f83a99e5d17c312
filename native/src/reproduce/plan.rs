//! The runs of a table, each in its own folder. A finished run is not repeated, and an interrupted one resumes. A row
//! that begins with the encoder of another row waits for that row.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::row::Row;
use super::table::{Scale, Table};
use crate::console::line;
use crate::data::PriorSection;
use crate::devices::DeviceChoice;
use crate::experiment::jobs::side_by_side;
use crate::experiment::settle::{Settled, settle};
use crate::names::slug;
use crate::run_folder::folder::{RESULT, RunFolder};
use crate::run_folder::record::{ArmResult, RunResult};

/// The settings beside the table.
#[derive(Debug, Clone)]
pub(crate) struct Plan<'a> {
    pub(crate) scale: Scale,
    pub(crate) seeds: u64,
    pub(crate) data: Option<&'a Path>,
    pub(crate) device: DeviceChoice,
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
    /// Runs that diverged, or would begin from one that did: seed and reason. No number counts them.
    pub(crate) diverged: Vec<String>,
}

/// One run of a row.
struct Task<'t> {
    row: &'t Row,
    seed: u64,
    folder: PathBuf,
    /// The task whose encoder it begins with.
    after: Option<usize>,
}

impl Plan<'_> {
    /// Runs the unfinished rows, and reads the results of all.
    ///
    /// # Errors
    /// A run failed; the results of finished runs are kept and not computed again.
    pub(crate) fn run<'t>(&self, table: &'t Table, rows: &[&'t Row]) -> Result<Vec<RowResult<'t>>> {
        let mut needed: Vec<&'t Row> = Vec::new();
        for row in rows.iter().copied().filter(|row| table.missing(row).is_none()) {
            for one in table.lineage(row) {
                if !needed.iter().any(|known| known.name == one.name) {
                    needed.push(one);
                }
                if !rows.iter().any(|asked| asked.name == one.name) {
                    line(format_args!(
                        "row `{}` needs the encoder of row `{}`, which is run too",
                        row.name, one.name
                    ));
                }
            }
        }
        // All recipes come first, so that an invalid row fails before hours are spent on the others.
        for row in &needed {
            table.recipe_of(row, self.scale, 0)?;
        }
        // Seed by seed, so that a table that is interrupted has all of its rows as early as possible.
        let tasks: Vec<Task<'t>> = (0..self.seeds)
            .flat_map(|seed| needed.iter().map(move |row| (seed, *row)))
            .map(|(seed, row)| Task {
                row,
                seed,
                folder: run_folder(self.out, row, seed),
                after: table.parent(row).and_then(|parent| {
                    let place = needed.iter().position(|other| other.name == parent.name)?;
                    Some(seed as usize * needed.len() + place)
                }),
            })
            .collect();
        let label = |task: &Task<'_>| format!("{}, seed {}", task.row.name, task.seed);
        let finished = side_by_side(
            self.jobs,
            &tasks,
            |task| task.after,
            label,
            |task| {
                let mut recipe = table.recipe_of(task.row, self.scale, task.seed)?;
                if let Some(before) = task.after {
                    let model = tasks[before].folder.clone();
                    if diverged(&model) {
                        let row = &tasks[before].row.name;
                        return Ok(Settled::Diverged(format!("it begins from row `{row}`, which diverged")));
                    }
                    match task.row.from {
                        Some(_) => recipe.encoder.weights = Some(model),
                        None => recipe.data.prior = Some(PriorSection::of(model)),
                    }
                }
                settle(&task.folder, recipe, self.data, self.device)
                    .with_context(|| format!("row `{}`, seed {}", task.row.name, task.seed))
            },
        )?;

        let mut results: Vec<RowResult<'t>> = rows
            .iter()
            .map(|row| RowResult { row, folders: vec![], runs: vec![], diverged: vec![] })
            .collect();
        for (task, settled) in tasks.into_iter().zip(finished) {
            let of_row = results.iter_mut().filter(|result| std::ptr::eq(result.row, task.row));
            for result in of_row.take(1) {
                match &settled {
                    Settled::Done(run) => {
                        result.runs.extend(run.arms.first().cloned());
                        result.folders.push(task.folder.clone());
                    }
                    Settled::Diverged(message) => {
                        result.diverged.push(format!("seed {}: {message}", task.seed));
                    }
                }
            }
        }
        Ok(results)
    }
}

/// True if the finished run in a folder diverged.
fn diverged(folder: &Path) -> bool {
    let result = RunFolder::open(folder).and_then(|folder| folder.read_json::<RunResult>(RESULT));
    result.map_or(true, |result| result.diverged().is_some())
}

/// The folder of one run of a row.
pub(crate) fn run_folder(out: &Path, row: &Row, seed: u64) -> PathBuf {
    out.join(slug(&row.name)).join(format!("seed-{seed}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::fs;

    use super::*;
    use crate::devices::DeviceName;
    use crate::reproduce::compare::compare;
    use crate::run_folder::folder::{MODEL, WEIGHTS};

    const TABLE: &str = r#"
title = "t"
paper = "p"
notes = ""
cost = ""
recipe = "cifar-10"
set = [
  'data={ dataset = "digits", train = 256, test = 64 }',
  'encoder={ name = "lenet5" }',
  'head={}',
  'augment={}',
  'optimizer={ name = "adam", learning_rate = 1e-3 }',
]

[[metric]]
name = "classifier_top1"
title = "Top-1"

[[row]]
name = "tuned"
from = "before"
set = ['objective={ name = "cross-entropy" }']

[[row]]
name = "prior"
prior = "before"
set = ['objective={ name = "kernel-decoupled-uniformity", condition = "prior", kernel = { name = "rbf", sigma = "median" } }']

[[row]]
name = "before"

[[row]]
name = "impossible"
missing = "it is not printed how"
published = { classifier_top1 = [0.5] }
"#;

    #[test]
    fn a_row_that_cannot_run_is_named_beside_those_that_can() {
        let place = tempfile::tempdir().unwrap();
        let table = Table::parse(TABLE).unwrap();
        let (scale, device) = (Scale::Smoke, DeviceName::Cpu.into());
        let plan = Plan { scale, seeds: 1, data: None, device, out: place.path(), jobs: 1 };
        let results = plan.run(&table, &[&table.row[2], &table.row[3]]).unwrap();
        let [ran, missing] = &compare(&table, Scale::Full, &results).unwrap()[..] else { panic!("two rows") };
        assert_eq!((ran.seeds, &ran.missing), (1, &None));
        assert_eq!((missing.seeds, missing.missing.as_deref()), (0, Some("it is not printed how")));
        assert_eq!((missing.cells[0].published, missing.cells[0].mean), (Some(0.5), None));
    }

    #[test]
    fn a_row_begins_with_the_encoder_of_another_one_and_waits_for_it() {
        let place = tempfile::tempdir().unwrap();
        let table = Table::parse(TABLE).unwrap();
        let run = |out: &Path| {
            let (scale, device) = (Scale::Smoke, DeviceName::Cpu.into());
            let plan = Plan { scale, seeds: 2, data: None, device, out, jobs: 3 };
            let asked: Vec<&Row> = table.row.iter().take(2).collect();
            plan.run(&table, &asked)
                .map(|results| results.into_iter().map(|one| one.runs).collect::<Vec<_>>())
        };
        let out = place.path().join("there");
        let results = run(&out).unwrap();
        assert_eq!(
            results.iter().map(Vec::len).collect::<Vec<_>>(),
            [2, 2],
            "the row that was not asked for is none"
        );
        assert!(results[0][1].metric("classifier_top1").is_some());
        let bytes = |row: usize, seed, file: &str| {
            fs::read(run_folder(&out, &table.row[row], seed).join(file)).unwrap()
        };
        for seed in 0..2 {
            assert_eq!(bytes(0, seed, WEIGHTS), bytes(2, seed, MODEL));
            assert_ne!(bytes(0, seed, MODEL), bytes(2, seed, MODEL));
        }
        assert_ne!(bytes(2, 0, MODEL), bytes(2, 1, MODEL));

        // Finished runs are not repeated, even after the folder was moved; deleted ones are.
        let moved = place.path().join("elsewhere");
        fs::rename(&out, &moved).unwrap();
        for row in &table.row[1..3] {
            fs::remove_dir_all(run_folder(&moved, row, 1)).unwrap();
        }
        let tuned = run_folder(&moved, &table.row[0], 0);
        let written = || fs::metadata(tuned.join(RESULT)).unwrap().modified().unwrap();
        let before = written();
        fs::remove_dir_all(run_folder(&moved, &table.row[1], 0)).unwrap();
        let again = run(&moved).unwrap();
        assert_eq!(written(), before);
        let accuracy = |results: &[Vec<ArmResult>]| -> Vec<_> {
            results.iter().flatten().map(|arm| arm.metric("top1")).collect()
        };
        assert_eq!(accuracy(&again), accuracy(&results));
    }
}
