//! Apache Parquet: tables with a vector in each row, as DuckDB, pandas, Polars, FAISS, Qdrant and Embedding Atlas take them.
//!
//! ```text
//! path    string                    hospital  string, of a category
//! split   string                    age       double
//! class   string                    vector    list of floats, as many in every row
//! ```
//!
//! No cell is empty. Parquet has no list of a fixed length; DuckDB casts by `vector::FLOAT[128]`. Rows lie in groups, which
//! are written as they come, so that memory does not grow with the number of rows. Pages are not compressed: vectors hardly
//! become smaller.

mod headers;
mod read;
mod write;

pub(crate) use self::read::{Unread, UnreadReason, each_group};
pub(crate) use self::write::Writer;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    Text,
    Whole,
    Number,
    /// Lists of so many numbers.
    List(usize),
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cells {
    Text(Vec<String>),
    Whole(Vec<i64>),
    Number(Vec<f64>),
    /// Lists of one length, one after the other.
    List {
        length: usize,
        values: Vec<f32>,
    },
}

impl Cells {
    /// No cell of a type.
    fn none(kind: CellKind) -> Self {
        match kind {
            CellKind::Text => Self::Text(vec![]),
            CellKind::Whole => Self::Whole(vec![]),
            CellKind::Number => Self::Number(vec![]),
            CellKind::List(length) => Self::List { length, values: vec![] },
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Whole(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::List { length, values } => values.len().checked_div(*length).unwrap_or(0),
        }
    }

    /// Adds the cells of another column; false if that is of another type.
    pub(crate) fn append(&mut self, cells: Self) -> bool {
        match (self, cells) {
            (Self::Text(own), Self::Text(cells)) => own.extend(cells),
            (Self::Whole(own), Self::Whole(cells)) => own.extend(cells),
            (Self::Number(own), Self::Number(cells)) => own.extend(cells),
            (Self::List { length, values: own }, Self::List { length: other, values })
                if *length == other =>
            {
                own.extend(values);
            }
            _ => return false,
        }
        true
    }

    /// Numbers in all of its rows.
    fn numbers(&self) -> usize {
        match self {
            Self::List { values, .. } => values.len(),
            _ => self.rows(),
        }
    }
}

/// The column of the vectors.
pub(crate) const VECTOR: &str = "vector";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
