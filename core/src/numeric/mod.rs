//! Host matrices and helpers for rows of tensors, used by all other modules.

pub(crate) mod distances;
pub mod label_groups;
pub mod matrix;
pub mod random;
pub mod read;
pub mod rows;
pub mod split;
pub mod unit_rows;
