//! The rows of a table that are asked for, and the reasons why some cannot be run here.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::plan::run_folder;
use super::row::Row;
use super::table::{Scale, Table};
use crate::data::MissingData;
use crate::exit::usage;
use crate::experiment::prepare::required::missing_inputs;
use crate::experiment::several::task::Task;
use crate::names::slug;
use crate::run_folder::folder::RESULT;

/// The requested rows; all rows if none is named.
///
/// # Errors
/// A usage error if the table has no such row.
pub(crate) fn rows<'t>(table: &'t Table, names: &[String]) -> Result<Vec<&'t Row>> {
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

/// Marks rows whose data or weights are missing, unless they were run before with all seeds.
///
/// # Errors
/// If a row has no valid recipe.
pub(crate) fn name_missing_inputs(
    table: &mut Table,
    asked: &[&Row],
    (scale, seeds): (Scale, u64),
    data: Option<&Path>,
    out: &Path,
) -> Result<()> {
    let mut data = MissingData::in_folder(data);
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
        if (0..seeds).all(done) {
            continue;
        }
        let missing = missing_inputs(&table.recipe_of(row, scale, 0)?, &mut data);
        missing_of_rows.extend(missing.map(|missing| (row.name.clone(), missing)));
    }
    for (name, missing) in missing_of_rows {
        for row in table.row.iter_mut().filter(|row| row.name == name) {
            row.missing = Some(missing.clone());
        }
    }
    Ok(())
}

/// Notes in each task the data or weights that its row lacks.
pub(crate) fn note_missing_inputs(tasks: &mut [Task], table: &Table) {
    for task in tasks {
        let row = table.row.iter().find(|row| row.name == task.group);
        task.missing = row.and_then(|row| table.missing(row)).map(str::to_owned);
    }
}

/// Fails if no row can be run, with the reasons. Those that the table's file states (`stated`) have no remedy. The others, which
/// [`name_missing_inputs`] has added to `table`, are missing data or models. The message has the `name` of what is asked for, and the
/// `command` to run once they are there.
///
/// # Errors
/// A usage error.
pub(crate) fn refuse_if_nothing_runs(
    (stated, stated_rows): (&Table, &[&Row]),
    (table, rows): (&Table, &[&Row]),
    (name, command): (&str, &str),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::reproduce::shipped::ShippedTable;

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
