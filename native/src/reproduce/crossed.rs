//! Rows for every line of a printed table in each of its columns.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::row::Row;

/// `[[column]]`: the change that all lines share, a data set or a strength of bias.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnSection {
    /// The second part of a row's name, after the name of its line.
    name: String,
    /// The place of its rows on the axis of a figure.
    #[serde(default)]
    x: Option<String>,
    /// A recipe other than the table's.
    #[serde(default)]
    recipe: Option<String>,
    /// Keys that its rows change.
    #[serde(default)]
    set: Vec<String>,
}

/// `[[line]]`: a compared method.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineSection {
    name: String,
    /// The variant of the recipe for its rows.
    #[serde(default)]
    variant: Option<String>,
    /// The reason why its rows cannot be run, if there is one.
    #[serde(default)]
    missing: Option<String>,
    /// Keys that its rows change, after those of the column.
    #[serde(default)]
    set: Vec<String>,
    /// Keys that its rows change at the scale `cpu`, after those of the scale.
    #[serde(default)]
    cpu: Vec<String>,
    /// For each metric by name, the published mean of every column and the ± where one is printed; an empty list if no
    /// mean is printed.
    #[serde(default)]
    published: BTreeMap<String, Vec<Vec<f64>>>,
}

/// All rows, column by column, each with all lines: rows of a column are compared with its first.
///
/// # Errors
/// Names the line whose published values are not one for each column.
pub(crate) fn crossed(columns: &[ColumnSection], lines: &[LineSection]) -> Result<Vec<Row>, String> {
    if columns.is_empty() != lines.is_empty() {
        return Err("`[[column]]` and `[[line]]` need each other".to_owned());
    }
    for line in lines {
        let is_whole = |values: &Vec<Vec<f64>>| values.len() == columns.len();
        if let Some((metric, values)) = line.published.iter().find(|(_, values)| !is_whole(values)) {
            return Err(format!(
                "line `{}` has {} published values of `{metric}` for {} columns",
                line.name,
                values.len(),
                columns.len()
            ));
        }
    }
    let of_column = |(at, column)| lines.iter().map(move |line| row(column, line, at));
    Ok(columns.iter().enumerate().flat_map(of_column).collect())
}

fn row(column: &ColumnSection, line: &LineSection, at: usize) -> Row {
    let published = line.published.iter().map(|(metric, values)| (metric.clone(), values[at].clone()));
    Row {
        name: format!("{}, {}", line.name, column.name),
        recipe: column.recipe.clone(),
        series: Some(line.name.clone()),
        x: column.x.clone(),
        missing: line.missing.clone(),
        from: None,
        prior: None,
        block: Some(column.name.clone()),
        variant: line.variant.clone(),
        set: column.set.iter().chain(&line.set).cloned().collect(),
        cpu: line.cpu.clone(),
        published: published.filter(|(_, values)| !values.is_empty()).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::reproduce::table::Table;

    const HEAD: &str = "title = \"\"\npaper = \"\"\nnotes = \"\"\ncost = \"\"\n";
    const COLUMNS: &str = r#"
        [[column]]
        name = "weak"
        x = "0.9"
        set = ["data.correlation=0.9"]

        [[column]]
        name = "strong"
        x = "0.99"
        set = ["data.correlation=0.99"]
    "#;

    #[test]
    fn every_line_is_a_row_in_every_column_beside_its_own_published_value() {
        let lines = r#"
            [[line]]
            name = "one"
            set = ["train.batch=2"]
            published = { top1 = [[1.0], [2.0, 0.5]] }

            [[line]]
            name = "two"
            published = { top1 = [[], [4.0]] }

            [[row]]
            name = "by itself"
        "#;
        let table = Table::parse(&format!("{HEAD}{COLUMNS}{lines}")).unwrap();
        let names: Vec<&str> = table.row.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["one, weak", "two, weak", "one, strong", "two, strong", "by itself"]);
        assert_eq!(table.row[2].set, ["data.correlation=0.99", "train.batch=2"]);
        assert_eq!(table.row[2].published["top1"], [2.0, 0.5]);
        assert!(table.row[1].published.is_empty());
        assert_eq!((table.row[3].series.as_deref(), table.row[3].x.as_deref()), (Some("two"), Some("0.99")));
        assert_eq!(table.row[0].in_block(), table.row[1].in_block());
        assert_ne!(table.row[0].in_block(), table.row[2].in_block());
    }

    #[test]
    fn a_line_says_what_was_published_in_every_column_or_is_named() {
        let line = "[[line]]\nname = \"one\"\npublished = { top1 = [[1.0]] }\n";
        let error = Table::parse(&format!("{HEAD}{COLUMNS}{line}")).unwrap_err();
        assert_eq!(error, "line `one` has 1 published values of `top1` for 2 columns");
        let error = Table::parse(&format!("{HEAD}{COLUMNS}")).unwrap_err();
        assert!(error.contains("need each other"), "{error}");
    }
}
