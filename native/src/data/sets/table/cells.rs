//! Decides whether the cells of a table's columns are numbers or names of categories. A single cell that makes a
//! numeric column categorical is reported.

use simile_core::data::Condition;
use simile_core::data::catalogue::numbered;
use simile_core::error::shown;
use simile_core::numeric::matrix::Matrix;

/// Largest number, so that sums of squares stay finite.
const LARGEST: f64 = 1e100;

/// A column of a table, with the line of each of its cells.
pub(super) struct Column<'t> {
    pub(super) name: &'t str,
    pub(super) cells: &'t [String],
    pub(super) lines: &'t [u64],
}

/// The reading of one cell.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Number(f64),
    /// A number that cannot be used, such as NaN.
    Unusable,
    Name,
}

impl Cell {
    fn of(text: &str) -> Self {
        match text.parse::<f64>() {
            Ok(number) if number.abs() <= LARGEST => Self::Number(number),
            Ok(_) => Self::Unusable,
            Err(_) => Self::Name,
        }
    }
}

/// True if a cell is a number that no attribute can have, such as NaN.
pub(crate) fn is_unusable(cell: &str) -> bool {
    Cell::of(cell) == Cell::Unusable
}

/// The attribute of some columns: numeric if all of their cells are numbers; of one column, categorical otherwise. Also
/// returns a note to the user on the choice. The cells of a category are names, whatever they are.
///
/// # Errors
/// Names line, column and cell of an unusable number, or of a cell that is not a number in one of several columns.
pub(super) fn condition(
    name: &str,
    columns: &[Column<'_>],
    is_category: bool,
) -> Result<(Condition, Option<String>), String> {
    if let (true, [column]) = (is_category, columns) {
        let (values, names) = numbered(column.cells.iter().map(String::as_str));
        return Ok((Condition::Categorical { values, names }, None));
    }
    let read: Vec<Vec<Cell>> =
        columns.iter().map(|column| column.cells.iter().map(|text| Cell::of(text)).collect()).collect();
    let at = |column: &Column<'_>, row: usize| {
        let text = column.cells.get(row).map_or("", String::as_str);
        format!("line {}: column `{}` is `{text}`", column.lines.get(row).copied().unwrap_or(0), column.name)
    };
    for (column, cells) in columns.iter().zip(&read) {
        let is_numeric = columns.len() > 1 || !cells.contains(&Cell::Name);
        let first = |wanted: Cell| cells.iter().position(|cell| *cell == wanted);
        if let Some(row) = first(Cell::Unusable).filter(|_| is_numeric) {
            return Err(format!(
                "{}, expected a number of at most {}; repair the cell, or leave the row out",
                at(column, row),
                shown(LARGEST)
            ));
        }
        if let Some(row) = first(Cell::Name).filter(|_| columns.len() > 1) {
            return Err(format!(
                "{}, and the attribute `{name}` has several columns, so all of their values must be numbers; \
                 add a column that writes the categories as numbers, such as 0, 1, 2, and name that one",
                at(column, row)
            ));
        }
    }
    let [column] = columns else { return Ok((Condition::Numeric(matrix(&read).into()), None)) };
    let cells = read.first().map_or(&[][..], Vec::as_slice);
    let Some(name_at) = cells.iter().position(|cell| *cell == Cell::Name) else {
        return Ok((Condition::Numeric(matrix(&read).into()), None));
    };
    let (values, names) = numbered(column.cells.iter().map(String::as_str));
    let numbers = cells.iter().filter(|cell| matches!(cell, Cell::Number(_))).count();
    let note = (2 * numbers > cells.len()).then(|| {
        format!(
            "{}, so `{name}` is a categorical attribute of {} values, although {numbers} of {} cells are numbers; \
             repair the cell if it is to be numeric",
            at(column, name_at),
            names.len(),
            cells.len()
        )
    });
    Ok((Condition::Categorical { values, names }, note))
}

/// One row a picture, one column each; every cell is a number.
fn matrix(columns: &[Vec<Cell>]) -> Matrix {
    let rows = columns.first().map_or(0, Vec::len);
    Matrix::from_fn(rows, columns.len(), |row, column| match columns[column][row] {
        Cell::Number(number) => number,
        Cell::Unusable | Cell::Name => f64::NAN,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse_column(cells: &[&str]) -> Result<(Condition, Option<String>), String> {
        let cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        let lines: Vec<u64> = (2..).take(cells.len()).collect();
        condition("age", &[Column { name: "years", cells: &cells, lines: &lines }], false)
    }

    #[test]
    fn codes_are_categories_where_the_recipe_says_so() {
        let cells = ["2", "1", "NaN", "2"].map(String::from);
        let columns = [Column { name: "site", cells: &cells, lines: &[2, 3, 4, 5] }];
        let (condition, note) = condition("site", &columns, true).unwrap();
        let Condition::Categorical { values, names } = condition else { unreachable!() };
        assert_eq!((values, names.len(), note), (vec![1, 0, 2, 1], 3, None));
    }

    #[test]
    fn a_cell_that_is_no_number_to_reckon_with_is_named() {
        for wrong in ["NaN", "inf", "-inf", "1e300", "1e999"] {
            let text = parse_column(&["1", "2.5", wrong, "4"]).unwrap_err();
            assert!(text.contains("line 4") && text.contains(&format!("`years` is `{wrong}`")), "{text}");
        }
        assert!(parse_column(&["nan", "nan"]).is_err());
    }

    #[test]
    fn a_word_among_numbers_is_said_and_words_are_categories() {
        let (condition, note) = parse_column(&["1", "2", "abc"]).unwrap();
        let note = note.unwrap();
        assert!(matches!(&condition, Condition::Categorical { names, .. } if names.len() == 3));
        assert!(note.contains("line 4") && note.contains("`abc`") && note.contains("2 of 3"), "{note}");
        let (condition, note) = parse_column(&["north", "inf", "south", "1"]).unwrap();
        assert!(matches!(condition, Condition::Categorical { .. }) && note.is_none());
        let (condition, note) = parse_column(&["1", "2", "1e100"]).unwrap();
        assert!(matches!(condition, Condition::Numeric(values) if values.rows() == 3) && note.is_none());
    }
}
