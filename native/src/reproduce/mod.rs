//! `simile reproduce`: the rows of a published table as runs, and what came out of them beside what was printed.
//!
//! A table is a file in `native/tables`: a recipe, and for each row what differs from it and what was published. Rows
//! that are lines in columns, as the paper prints them, are written so.

pub(crate) mod compare;
mod crossed;
pub(crate) mod drawn;
mod figure;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod shipped;
pub(crate) mod table;
