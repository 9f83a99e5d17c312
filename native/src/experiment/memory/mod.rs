//! The available memory, and the check that a recipe fits into it.

pub(crate) mod available;
pub(crate) mod limits;
