//! Memory: how much there is, and whether what a recipe asks for fits into it.

pub(crate) mod available;
pub(crate) mod limits;
