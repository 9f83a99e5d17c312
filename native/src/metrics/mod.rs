//! Metrics of a representation: their names, the comparison of several runs by them, and their presentation.

pub(crate) mod format;
pub(crate) mod leak;
pub(crate) mod mean_std;
pub(crate) mod names;
pub(crate) mod over_runs;
pub(crate) mod two_sample;
