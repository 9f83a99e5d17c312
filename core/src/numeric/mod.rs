//! Numbers on the host and rows of tensors that everything else is made of.

pub mod label_groups;
pub mod matrix;
pub mod random;
pub mod unit_rows;
