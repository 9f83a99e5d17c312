//! `simile reproduce`

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;

use super::shared::runs::{listed_or_run, refuse_run};
use super::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::cli::Reproduce;
use crate::console::Console;
use crate::data::DataSection;
use crate::exit::usage;
use crate::experiment::prepare::required::missing_inputs;
use crate::experiment::several::task::{Task, nothing_missing};
use crate::experiment::several::{Several, devices_of};
use crate::names::slug;
use crate::reproduce::compare::compare;
use crate::reproduce::drawn::{Drawn, panels};
use crate::reproduce::output::Comparison;
use crate::reproduce::plan::{recipe_of, results, run_folder, tasks};
use crate::reproduce::row::Row;
use crate::reproduce::shipped::ShippedTable;
use crate::reproduce::table::{Scale, Table};
use crate::run_folder::folder::{RESULT, write_all};
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
        name_missing_inputs(&mut table, &asked, arguments, out)?;
        note_missing_inputs(&mut several.tasks, &table);
    }
    let rows = rows(&table, &arguments.rows)?;
    let is_asked = |task: &&Task| rows.iter().any(|row| row.name == task.group);
    if !several.tasks.iter().filter(is_asked).any(Task::has_ended) {
        something_runs(arguments, (&whole, &asked), (&table, &rows))?;
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

/// Notes in each task the data or weights that its row lacks.
fn note_missing_inputs(tasks: &mut [Task], table: &Table) {
    for task in tasks {
        let row = table.row.iter().find(|row| row.name == task.group);
        task.missing = row.and_then(|row| table.missing(row)).map(str::to_owned);
    }
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
    something_runs(arguments, (table, &rows), (table, &rows))?;
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

/// Marks rows whose data or weights are missing, unless they were run before with all seeds.
fn name_missing_inputs(table: &mut Table, asked: &[&Row], arguments: &Reproduce, out: &Path) -> Result<()> {
    let mut known: Vec<(DataSection, Option<PathBuf>, Option<String>)> = Vec::new();
    let needed: BTreeSet<String> = table
        .row
        .iter()
        .filter(|row| asked.iter().any(|asked| asked.name == row.name) && table.missing(row).is_none())
        .flat_map(|row| table.lineage(row))
        .map(|row| row.name.clone())
        .collect();
    let mut missing_of_rows: Vec<(String, String)> = Vec::new();
    for row in table.row.iter().filter(|row| needed.contains(&row.name)) {
        let done = |seed| run_folder(out, row, seed).join(RESULT).is_file();
        if (0..arguments.seeds).all(done) {
            continue;
        }
        let recipe = table.recipe_of(row, arguments.scale, 0)?;
        let (data, weights) = (&recipe.data, &recipe.encoder.weights);
        let before = known.iter().find(|(section, file, _)| section == data && file == weights);
        let missing = match before {
            Some((_, _, missing)) => missing.clone(),
            None => {
                let missing = missing_inputs(&recipe, arguments.data.path());
                known.push((recipe.data, recipe.encoder.weights, missing.clone()));
                missing
            }
        };
        missing_of_rows.extend(missing.map(|missing| (row.name.clone(), missing)));
    }
    for (name, missing) in missing_of_rows {
        for row in table.row.iter_mut().filter(|row| row.name == name) {
            row.missing = Some(missing.clone());
        }
    }
    Ok(())
}

/// Fails if no row can be run, with the reasons. Those that the table's file states (`stated`) have no remedy. The others, which
/// [`name_missing_inputs`] has added to `table`, are missing data or models; the message has the command to run once they are there.
fn something_runs(
    arguments: &Reproduce,
    (stated, stated_rows): (&Table, &[&Row]),
    (table, rows): (&Table, &[&Row]),
) -> Result<()> {
    let (mut without_remedy, mut absent) = (BTreeSet::new(), BTreeSet::new());
    for (stated_row, row) in stated_rows.iter().zip(rows) {
        let Some(reason) = table.missing(row) else { return Ok(()) };
        match stated.missing(stated_row) {
            Some(_) => without_remedy.insert(reason),
            None => absent.insert(reason),
        };
    }
    let listed = |reasons: &BTreeSet<&str>| reasons.iter().copied().collect::<Vec<_>>().join("; ");
    let name = format!("{}{}", arguments.table, row_options(arguments));
    let command = command(arguments, table, Some(arguments.data.path().unwrap_or_else(|| Path::new("DIR"))));
    Err(usage(match (absent.is_empty(), without_remedy.is_empty()) {
        (true, _) => format!("{name} cannot be run: {}", listed(&without_remedy)),
        (false, true) => format!("{name} cannot be run: {}; then run `{command}`", listed(&absent)),
        (false, false) => format!(
            "{name} cannot be run: {}; then run `{command}`. Its other rows cannot be run with any data: {}",
            listed(&absent),
            listed(&without_remedy)
        ),
    }))
}

/// The requested rows; all rows if none is named.
fn rows<'t>(table: &'t Table, names: &[String]) -> Result<Vec<&'t Row>> {
    if names.is_empty() {
        return Ok(table.row.iter().collect());
    }
    let mut asked: Vec<&Row> = Vec::new();
    for name in names {
        let is_named = |own: &str| own == name || slug(own) == *name;
        let alone = table.row.iter().find(|row| is_named(&row.name));
        let rows: Vec<&Row> = match alone {
            Some(row) => vec![row],
            None => table.row.iter().filter(|row| row.groups().any(is_named)).collect(),
        };
        if rows.is_empty() {
            let known: Vec<String> = table.row.iter().map(|row| format!("`{}`", row.name)).collect();
            return Err(usage(format_args!("the table has no row `{name}`; known: {}", known.join(", "))));
        }
        asked.extend(rows);
    }
    Ok(table.row.iter().filter(|row| asked.iter().any(|other| other.name == row.name)).collect())
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_asked_for_by_its_name_and_many_by_their_line_or_column() {
        let table = ShippedTable::find("contex-table5").unwrap().read().unwrap();
        let asked = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            rows(&table, &names).map(|rows| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(asked(&["rubi-0.999"]).unwrap(), ["RUBi, ρ = 0.999"]);
        assert_eq!(asked(&["ρ = 0.9"]).unwrap().len(), 8);
        assert_eq!(asked(&["LfF"]).unwrap().len(), 6);
        assert_eq!(asked(&["lff", "0.9", "LfF, ρ = 0.9"]).unwrap().len(), 6 + 8 - 1);
        let error = asked(&["LfF", "nothing"]).unwrap_err().to_string();
        assert!(error.contains("no row `nothing`") && error.contains("`RUBi, ρ = 0.999`"), "{error}");
    }
}
