//! The shape of a representation, independent of its data.

use std::collections::BTreeSet;

use anyhow::Result;
use simile_core::error::Error;
use simile_core::eval::geometry::{effective_rank, silhouette, uniformity};
use simile_core::eval::unit::unit_rows;
use simile_core::numeric::rows::{FeatureTable, Rows as _, to_matrix};
use simile_core::numeric::split::split_indices;

use super::ProbeSplit;
use crate::console::line;
use crate::metrics::Metrics;
use crate::metrics::names::{EFFECTIVE_RANK, SILHOUETTE, UNIFORMITY};

/// Most test images for comparisons in pairs.
const COMPARED: usize = 2000;
/// The same images for every run.
const SEED: u64 = 0;
/// `t` of Wang and Isola's uniformity.
const UNIFORMITY_T: f64 = 2.0;

pub(super) fn measure(test: &ProbeSplit<'_>) -> Result<Metrics> {
    let (_, some) = split_indices(test.features.rows(), COMPARED.min(test.features.rows()), SEED);
    let labels: Vec<usize> = some.iter().map(|&i| test.dataset.labels[i]).collect();
    let mut metrics = Metrics::new();
    // It compares rows with each other.
    if some.len() > 1 {
        let unit = unit_rows(&to_matrix(&FeatureTable::gather(test.features, &some)?)?);
        metrics.insert(UNIFORMITY.into(), uniformity(&unit, UNIFORMITY_T)?);
    }
    match effective_rank(&test.original()) {
        Ok(rank) => {
            metrics.insert(EFFECTIVE_RANK.into(), rank);
        }
        // A network that gives zeros alone ends no run: the other metrics say that it is of no use.
        Err(error @ Error::Degenerate { .. }) => {
            line(format_args!("`{EFFECTIVE_RANK}` is left out: {error}"));
        }
        Err(error) => return Err(error.into()),
    }
    let classes = labels.iter().collect::<BTreeSet<_>>().len();
    if (2..labels.len()).contains(&classes) {
        metrics.insert(
            SILHOUETTE.into(),
            silhouette(&to_matrix(&FeatureTable::gather(&test.rows, &some)?)?, &labels)?,
        );
    }
    Ok(metrics)
}
