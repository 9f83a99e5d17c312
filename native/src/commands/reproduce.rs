//! `simile reproduce`

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;

use super::shared::runs::{listed_or_run, refuse_run};
use super::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::cli::Reproduce;
use crate::console::Console;
use crate::exit::usage;
use crate::experiment::several::task::{Task, nothing_missing};
use crate::experiment::several::{Several, devices_of};
use crate::names::slug;
use crate::reproduce::asked::{name_missing_inputs, note_missing_inputs, refuse_if_nothing_runs, rows};
use crate::reproduce::compare::compare;
use crate::reproduce::drawn::{Drawn, panels};
use crate::reproduce::output::Comparison;
use crate::reproduce::plan::{recipe_of, results, tasks};
use crate::reproduce::row::Row;
use crate::reproduce::shipped::ShippedTable;
use crate::reproduce::table::{Scale, Table};
use crate::run_folder::folder::write_all;
use crate::shell::quoted;

pub(super) fn run(arguments: &Reproduce, console: Console) -> Result<()> {
    refuse_other_kind(&arguments.table, &[ShippedKind::Table])?;
    let shipped = ShippedTable::find(&arguments.table)?;
    let table = shipped.read()?;
    // A figure of a table shares its runs.
    let runs = table.of.as_deref().unwrap_or(shipped.name);
    let folder = || Path::new("runs").join(format!("{runs}-{}", word(arguments.scale)));
    let out = arguments.out.clone().unwrap_or_else(folder);
    refuse_run(&out)?;
    if table.is_trained() {
        train(arguments, &shipped, table, &out, console)
    } else {
        draw(arguments, &shipped, &table, &out, console)
    }
}

/// Runs the rows of a table that can run here, and compares them with the published values.
fn train(
    arguments: &Reproduce,
    shipped: &ShippedTable,
    mut table: Table,
    out: &Path,
    console: Console,
) -> Result<()> {
    // The runs and their indices do not depend on the data that are on this machine.
    let whole = table.clone();
    let asked = rows(&whole, &arguments.rows)?;
    let tasks = tasks(&whole, &asked, (arguments.scale, arguments.seeds), out)?;
    let recipe = |index| recipe_of(&whole, arguments.scale, &tasks, index);
    let mut several = Several {
        tasks: tasks.clone(),
        out,
        data: arguments.data.path(),
        devices: &arguments.runs.device,
        jobs: arguments.runs.jobs.map(usize::from),
        recipe: &recipe,
        check: &|_| Ok(()),
    };
    if !tasks.is_empty() && listed_or_run(&several, &arguments.runs, console)? {
        return Ok(());
    }
    if !several.collects() {
        let budget = (arguments.scale, arguments.seeds);
        name_missing_inputs(&mut table, &asked, budget, arguments.data.path(), out)?;
        note_missing_inputs(&mut several.tasks, &table);
    }
    let rows = rows(&table, &arguments.rows)?;
    let is_asked = |task: &&Task| rows.iter().any(|row| row.name == task.group);
    if !several.tasks.iter().filter(is_asked).any(Task::has_ended) {
        check_that_something_runs(arguments, (&whole, &asked), (&table, &rows))?;
    }
    let outcomes = several.all()?;
    let (absent, count) = (several.missing(&outcomes), several.tasks.len());
    if absent.len() == count {
        return nothing_missing(&absent, count);
    }

    let comparison = Comparison {
        name: shipped.name,
        title: &table.title,
        paper: &table.paper,
        notes: &table.notes,
        scale: arguments.scale,
        reduction: Comparison::reduction(&table, arguments.scale),
        seeds: arguments.seeds,
        device: devices_of(&outcomes, &arguments.runs.device)?,
        version: env!("CARGO_PKG_VERSION"),
        command: command(arguments, &table, arguments.data.path()),
        metrics: &table.metric,
        figure: table.figure.as_ref(),
        rows: compare(&table, arguments.scale, &results(&rows, &tasks, &outcomes))?,
        absent,
    };
    write(out, shipped, &table, files_of(&comparison)?)?;
    console.answer(&comparison, || comparison.text())?;
    nothing_missing(&comparison.absent, count)
}

/// The files of a comparison, by their extensions.
fn files_of(comparison: &Comparison<'_>) -> Result<[(&'static str, Vec<u8>); 4]> {
    Ok([
        ("md", comparison.markdown().into_bytes()),
        ("csv", comparison.csv()?),
        ("json", serde_json::to_vec_pretty(comparison)?),
        ("html", comparison.html()?.into_bytes()),
    ])
}

/// A figure for which nothing is trained.
fn draw(
    arguments: &Reproduce,
    shipped: &ShippedTable,
    table: &Table,
    out: &Path,
    console: Console,
) -> Result<()> {
    let rows = rows(table, &arguments.rows)?;
    check_that_something_runs(arguments, (table, &rows), (table, &rows))?;
    if arguments.runs.list || arguments.runs.task.is_some() {
        return Err(usage(format_args!("{} trains nothing, so it has no runs", shipped.name)));
    }
    let panels = panels(table, &rows, arguments.data.path())?.unwrap_or_default();
    let drawn = Drawn {
        name: shipped.name,
        title: &table.title,
        paper: &table.paper,
        notes: &table.notes,
        version: env!("CARGO_PKG_VERSION"),
        command: command(arguments, table, arguments.data.path()),
        panels,
    };
    let files = [("md", drawn.markdown().into_bytes()), ("json", serde_json::to_vec_pretty(&drawn)?)];
    let csv = drawn.csv()?.map(|csv| ("csv", csv));
    let page = [("html", drawn.html().into_bytes())];
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    write(out, shipped, table, files.into_iter().chain(csv).chain(page))?;
    console.answer(&drawn, || drawn.text())
}

/// Fails if no row can be run; the message has the command to run once the data are there.
fn check_that_something_runs(
    arguments: &Reproduce,
    stated: (&Table, &[&Row]),
    with_inputs: (&Table, &[&Row]),
) -> Result<()> {
    let name = format!("{}{}", arguments.table, row_options(arguments));
    let data = arguments.data.path().unwrap_or_else(|| Path::new("DIR"));
    refuse_if_nothing_runs(stated, with_inputs, (&name, &command(arguments, with_inputs.0, Some(data))))
}

/// Writes `table.md` and so on; the files of a figure have its name, because several figures may share the same runs.
fn write(
    out: &Path,
    shipped: &ShippedTable,
    table: &Table,
    files: impl IntoIterator<Item = (&'static str, Vec<u8>)>,
) -> Result<()> {
    let name = if table.figure.is_some() { shipped.name } else { "table" };
    write_all(out, files.into_iter().map(|(ending, bytes)| (format!("{name}.{ending}"), bytes)))
}

/// The command that computes this again on the data of a folder. A figure for which nothing is trained is the same at every scale and
/// number of seeds.
fn command(arguments: &Reproduce, table: &Table, data: Option<&Path>) -> String {
    let Reproduce { table: name, scale, seeds, .. } = arguments;
    let rows = row_options(arguments);
    let data = data.map(|data| format!(" --data {}", quoted(&data.display().to_string())));
    let data = data.unwrap_or_default();
    let budget =
        if table.is_trained() { format!(" --scale {} --seeds {seeds}", word(*scale)) } else { String::new() };
    format!("simile reproduce {name}{data}{budget}{rows}")
}

/// The rows that are asked for, as options of the command line.
fn row_options(arguments: &Reproduce) -> String {
    arguments.rows.iter().map(|row| format!(" --row {}", slug(row))).collect()
}

/// The name of a scale on the command line.
fn word(scale: Scale) -> String {
    scale.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
