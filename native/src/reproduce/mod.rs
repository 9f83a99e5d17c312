//! `simile reproduce`: the rows of a published table as runs, with our results beside the printed ones.
//!
//! A table is a file in `native/tables`: a recipe, and for each row its changes and the published values. Rows can also
//! be written as lines and columns, as the paper prints them.

pub(crate) mod asked;
pub(crate) mod compare;
mod crossed;
pub(crate) mod drawn;
mod figure;
pub(crate) mod output;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod shipped;
pub(crate) mod table;
