//! The runs of a table, each in its own folder. A finished run is not repeated, and an interrupted one resumes. A row
//! that begins with the encoder of another row waits for that row.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::row::Row;
use super::table::{Scale, Table};
use crate::config::Recipe;
use crate::console::line;
use crate::data::PriorSection;
use crate::experiment::several::outcome::RunOutcome;
use crate::experiment::several::task::Task;
use crate::names::slug;
use crate::run_folder::record::VariantResult;

/// The results of one row, a run for each seed; none for a row that cannot be run.
#[derive(Debug, Clone)]
pub(crate) struct RowResult<'t> {
    pub(crate) row: &'t Row,
    pub(crate) folders: Vec<PathBuf>,
    /// The seed of each run.
    pub(crate) seeds: Vec<u64>,
    pub(crate) runs: Vec<VariantResult>,
    /// Runs that diverged, or would begin from one that did: seed and reason. No number counts them.
    pub(crate) diverged: Vec<String>,
}

/// The runs of rows and of the rows that they need, in folders of `out`: seed by seed, so that a table that is
/// interrupted has all of its rows as early as possible.
///
/// # Errors
/// A usage error if a row has no valid recipe.
pub(crate) fn tasks(
    table: &Table,
    rows: &[&Row],
    (scale, seeds): (Scale, u64),
    out: &Path,
) -> Result<Vec<Task>> {
    let mut needed: Vec<&Row> = Vec::new();
    for row in rows.iter().copied().filter(|row| table.missing(row).is_none()) {
        for one in table.lineage(row) {
            if !needed.iter().any(|known| known.name == one.name) {
                needed.push(one);
            }
            if !rows.iter().any(|asked| asked.name == one.name) {
                line(format_args!(
                    "row `{}` needs the encoder of row `{}`, which runs too",
                    row.name, one.name
                ));
            }
        }
    }
    // All recipes come first, so that an invalid row fails before hours are spent on the others.
    for row in &needed {
        table.recipe_of(row, scale, 0)?;
    }
    let after = |row: &Row, seed: u64| {
        let parent = table.parent(row)?;
        let place = needed.iter().position(|other| other.name == parent.name)?;
        Some(seed as usize * needed.len() + place)
    };
    let of_seed = |seed| needed.iter().map(move |row| (seed, *row));
    let task = |(seed, row): (u64, &Row)| Task {
        group: row.name.clone(),
        seed,
        folder: run_folder(out, row, seed),
        after: after(row, seed),
        missing: None,
    };
    Ok((0..seeds).flat_map(of_seed).map(task).collect())
}

/// The recipe of a run, which begins with the encoder of an earlier one if its row does.
///
/// # Errors
/// A usage error if its row has no valid recipe.
pub(crate) fn recipe_of(table: &Table, scale: Scale, tasks: &[Task], index: usize) -> Result<Recipe> {
    let Task { group, seed, after, .. } = &tasks[index];
    let row = table.row.iter().find(|row| row.name == *group).with_context(|| format!("no row `{group}`"))?;
    let mut recipe = table.recipe_of(row, scale, *seed)?;
    if let Some(before) = after {
        let model = tasks[*before].folder.clone();
        match row.from {
            Some(_) => recipe.encoder.weights = Some(model),
            None => recipe.data.prior = Some(PriorSection::of(model)),
        }
    }
    Ok(recipe)
}

/// The results of the rows among those of all runs.
pub(crate) fn results<'t>(rows: &[&'t Row], tasks: &[Task], outcomes: &[RunOutcome]) -> Vec<RowResult<'t>> {
    let nothing =
        |&row: &&'t Row| RowResult { row, folders: vec![], seeds: vec![], runs: vec![], diverged: vec![] };
    let mut results: Vec<RowResult<'t>> = rows.iter().map(nothing).collect();
    for (task, outcome) in tasks.iter().zip(outcomes) {
        let Some(result) = results.iter_mut().find(|result| result.row.name == task.group) else { continue };
        match outcome {
            RunOutcome::Done(run) => {
                if let Some(variant) = run.variants.first() {
                    result.seeds.push(task.seed);
                    result.runs.push(variant.clone());
                }
                result.folders.push(task.folder.clone());
            }
            RunOutcome::Diverged(message) => result.diverged.push(format!("seed {}: {message}", task.seed)),
            RunOutcome::Missing(_) => {}
        }
    }
    results
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
    use crate::experiment::several::Several;
    use crate::reproduce::compare::compare;
    use crate::run_folder::folder::{MODEL, RESULT, WEIGHTS};

    fn run<'t>(
        table: &'t Table,
        rows: &[&'t Row],
        (seeds, jobs): (u64, usize),
        out: &Path,
    ) -> Vec<RowResult<'t>> {
        let tasks = tasks(table, rows, (Scale::Smoke, seeds), out).unwrap();
        let recipe = |index| recipe_of(table, Scale::Smoke, &tasks, index);
        let devices = [DeviceName::Cpu.into()];
        let several = Several {
            tasks: tasks.clone(),
            out,
            data: None,
            devices: &devices,
            jobs: Some(jobs),
            recipe: &recipe,
            check: &|_| Ok(()),
        };
        results(rows, &tasks, &several.all().unwrap())
    }

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
        let results = run(&table, &[&table.row[2], &table.row[3]], (1, 1), place.path());
        let [ran, missing] = &compare(&table, Scale::Full, &results).unwrap()[..] else { panic!("two rows") };
        assert_eq!((ran.seeds, &ran.missing), (1, &None));
        assert_eq!((missing.seeds, missing.missing.as_deref()), (0, Some("it is not printed how")));
        assert_eq!((missing.cells[0].published, missing.cells[0].mean), (Some(0.5), None));
    }

    #[test]
    fn a_row_begins_with_the_encoder_of_another_one_and_waits_for_it() {
        let place = tempfile::tempdir().unwrap();
        let table = Table::parse(TABLE).unwrap();
        let run_in = |out: &Path| {
            let asked: Vec<&Row> = table.row.iter().take(2).collect();
            run(&table, &asked, (2, 3), out).into_iter().map(|one| one.runs).collect::<Vec<_>>()
        };
        let out = place.path().join("there");
        let results = run_in(&out);
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
        let finished = [0, 1].map(|row| run_folder(&moved, &table.row[row], 0).join(RESULT));
        let written = || finished.clone().map(|result| fs::metadata(result).unwrap().modified().unwrap());
        let before = written();
        let again = run_in(&moved);
        assert_eq!(written(), before);
        let accuracy = |results: &[Vec<VariantResult>]| -> Vec<_> {
            results.iter().flatten().map(|variant| variant.metric("top1")).collect()
        };
        assert_eq!(accuracy(&again), accuracy(&results));
    }
}
