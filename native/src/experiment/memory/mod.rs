//! The memory that is available and that is used, and the checks that a run fits into it: `counts` checks single counts of a
//! recipe, before anything of that size is allocated, and `step` checks the sum for a training step; `pass` limits what an
//! evaluation takes at once.

pub(crate) mod available;
pub(crate) mod counts;
pub(crate) mod pass;
pub(crate) mod step;
pub(crate) mod used;
