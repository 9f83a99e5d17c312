//! Tables in Markdown, for readers of a report, a sweep or a run of the fuzz tests.

use std::iter;

/// A table: its heads, the line below them, and a line for each row.
pub(crate) fn table(heads: &[impl AsRef<str>], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule = heads.iter().map(|_| "---");
    let above = [row(heads), row(rule)];
    above.into_iter().chain(rows.into_iter().map(row)).map(|line| line + "\n").collect()
}

/// A row of a table, a single line. A cell may have any text: characters that would end it are escaped.
pub(crate) fn row(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let cell = |cell: &str| cell.replace('|', "\\|").replace(['\n', '\r'], " ");
    let cells = cells.into_iter().map(|text| cell(text.as_ref()) + " |");
    iter::once("|".to_owned()).chain(cells).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_row_whatever_its_cells_hold() {
        let rows = [["plain", "1.0"], ["a|b", "two\nlines"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "| name | value |\n| --- | --- |\n| plain | 1.0 |\n| a\\|b | two lines |\n";
        assert_eq!(table(&["name", "value"], rows), expected);
    }
}
