//! The columns that are attributes of vectors.

use super::kind::Column;

/// Columns that are attributes, and notes on the others.
pub(crate) struct Attributes {
    pub(crate) columns: Vec<Column>,
    pub(crate) notes: Vec<String>,
}

impl Attributes {
    /// The attributes among the columns of a table of so many rows. A note names each of the others: those that are no attributes, and
    /// those that lack values, unless they are `wanted`.
    pub(crate) fn of(columns: impl Iterator<Item = Column>, wanted: Option<&str>, rows: usize) -> Self {
        let is_wanted = |column: &Column| wanted == Some(column.name.as_str());
        let (useful, useless): (Vec<Column>, Vec<Column>) =
            columns.partition(|column| column.is_attribute() || is_wanted(column));
        let (whole, incomplete): (Vec<Column>, Vec<Column>) =
            useful.into_iter().partition(|column| column.missing == 0 || is_wanted(column));
        let lacks = |column: &Column| without_values(&column.name, column.missing);
        let notes = useless
            .iter()
            .filter_map(|column| column.left_out(rows))
            .chain(incomplete.iter().map(lacks))
            .chain(whole.iter().filter_map(Column::numeric_code_warning))
            .collect();
        Self { columns: whole, notes }
    }
}

/// A note on a column that is left out because so many of its cells have no value.
pub(crate) fn without_values(name: &str, cells: usize) -> String {
    format!("`{name}` is left out: {cells} of its cells have no value")
}
