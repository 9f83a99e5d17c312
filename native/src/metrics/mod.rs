//! Metrics of a representation: their names, the comparison of several runs by them, and their presentation. `association` tells how
//! closely an attribute is tied to the class.

pub(crate) mod association;
pub(crate) mod catalogue;
pub(crate) mod format;
pub(crate) mod leak;
pub(crate) mod mean_std;
pub(crate) mod metric;
pub(crate) mod names;
pub(crate) mod over_runs;
pub(crate) mod two_sample;

use std::collections::BTreeMap;

/// Metrics by name.
pub(crate) type Metrics = BTreeMap<String, f64>;

/// For each evaluation image, whether a probe predicts its value correctly; by the name of the metric.
pub(crate) type Hits = BTreeMap<String, Vec<bool>>;
