//! Metrics of a representation: their names, how several runs are compared by them, and how they are shown.

pub(crate) mod format;
pub(crate) mod mean_std;
pub(crate) mod names;
pub(crate) mod two_sample;
