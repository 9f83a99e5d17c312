//! Metrics of a representation: how they are measured, how several runs are compared by them, and how they are shown.

pub(crate) mod format;
pub(crate) mod mean_std;
pub(crate) mod probe;
pub(crate) mod two_sample;
