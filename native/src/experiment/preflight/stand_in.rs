//! Random features of some images in place of those of a network, with which the stages after training are tried.

use std::collections::BTreeSet;

use anyhow::Result;
use simile_core::data::{Condition, Dataset, Images};
use simile_core::numeric::rows::FeatureTable;
use simile_core::numeric::split::split_indices;

use crate::experiment::evaluate::probe::LabelledFeatures;
use crate::experiment::features::Features;

/// Most images that stand for a whole split.
const MOST_IMAGES: usize = 512;
/// Features of each image.
pub(super) const FEATURES: usize = 3;

/// Labels and conditions of images, with random features.
pub(super) struct StandIn {
    features: Features,
    pub(super) dataset: Dataset,
}

impl StandIn {
    /// All images of a small split, or some of a large one, with at least one of every class and value that occurs, and two of different
    /// numbers.
    pub(super) fn of(set: &Dataset, part: usize) -> Result<Self> {
        let (_, some) = split_indices(set.len(), MOST_IMAGES.min(set.len()), 0);
        let mut chosen: BTreeSet<usize> = some.into_iter().collect();
        chosen.extend(first_of_each(&set.labels));
        for condition in set.conditions.values() {
            match condition {
                Condition::Categorical { values, .. } => chosen.extend(first_of_each(values)),
                Condition::Numeric(rows) => {
                    let other = rows.iter_rows().position(|row| row != rows.row(0));
                    chosen.extend(other.map(|other| [0, other]).into_iter().flatten());
                }
            }
        }
        let chosen: Vec<usize> = chosen.into_iter().collect();
        // Probes do not use the pixels.
        let images = Images::new(1, 1, 1, vec![0; chosen.len()])?.into();
        let dataset = Dataset { images, ..set.subset(&chosen)? };
        Ok(Self { features: random_features([chosen.len(), FEATURES], part)?, dataset })
    }

    pub(super) fn labelled(&self) -> LabelledFeatures<'_> {
        LabelledFeatures { features: &self.features, dataset: &self.dataset }
    }
}

/// Pseudo-random numbers, the same each time.
pub(super) fn random_features([rows, columns]: [usize; 2], part: usize) -> Result<Features> {
    let value = |at: usize| (at as f64 * 12.9898 + part as f64).sin() as f32;
    let values = (0..rows * columns).map(value).collect();
    Ok(Features::Held(FeatureTable::new(rows, columns, values)?))
}

/// The index of the first occurrence of each value.
pub(super) fn first_of_each(values: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let mut met = BTreeSet::new();
    values.iter().enumerate().filter(move |(_, value)| met.insert(**value)).map(|(at, _)| at)
}
