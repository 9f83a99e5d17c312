//! UTKFace and CelebA share the section `[data.faces]` and the way in which Hong and Yang (2021), whom ConTeX follows, sample
//! them: by the pictures whose class agrees with their bias, and those whose class conflicts with it.

use serde::{Deserialize, Serialize};
use simile_core::data::catalogue::train_count;
use simile_core::data::{Catalogue, DatasetError, Split};
use simile_core::numeric::split::split_indices;

use crate::data::keys::of_dataset::DatasetOption;

/// `[data.faces]`: the class and the bias of UTKFace or CelebA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FacesSection {
    /// `gender` for UTKFace; one of CelebA's attributes, `blond-hair` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// `race` (the default) or `age` for UTKFace; one of CelebA's attributes, `male` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bias: Option<String>,
    pub(crate) sampling: Sampling,
    /// The correlation of class and bias in the published sampling of UTKFace.
    pub(crate) correlation: f64,
    pub(crate) seed: u64,
}

impl Default for FacesSection {
    fn default() -> Self {
        Self { target: None, bias: None, sampling: Sampling::default(), correlation: 0.9, seed: 0 }
    }
}

impl DatasetOption for FacesSection {
    const KEY: &'static str = "faces";
    const MEANINGS: &'static [(&'static str, &'static str)] = &[
        ("", "The class and the bias of `celeba` and `utkface`."),
        (
            "bias",
            "Attribute that is the bias: of `celeba` any of its attributes (`male` by default), of `utkface` `race` (the default) or \
             `age`.",
        ),
        (
            "correlation",
            "Correlation of class and bias in the published sampling of `utkface`, 0 to 1; 0.9 by default.",
        ),
        (
            "sampling",
            "`published` (the default) samples faces as Hong and Yang (2021), `all` takes all of them.",
        ),
        ("seed", "Seed of the published sampling; 0 by default."),
        (
            "target",
            "Attribute that is the class: of `celeba` any of its attributes (`blond-hair` by default), of `utkface` `gender`.",
        ),
    ];

    fn check(&self) -> Result<(), String> {
        let within = (0.0..=1.0).contains(&self.correlation);
        if within { Ok(()) } else { Err("`data.faces.correlation` must be from 0 to 1".into()) }
    }

    fn check_use(&self) -> Result<(), String> {
        let is_ignored = self.sampling == Sampling::All && self.seed != Self::default().seed;
        let reason = "`data.faces.seed` has no effect on all faces, of which none is drawn; leave it out, or take the published \
                      sampling with `data.faces.sampling = \"published\"`";
        if is_ignored { Err(reason.into()) } else { Ok(()) }
    }
}

impl FacesSection {
    /// The section with which all faces are taken.
    pub(super) fn whole() -> Self {
        Self { sampling: Sampling::All, ..Self::default() }
    }
}

/// The selection of the faces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sampling {
    /// The sampling of Hong and Yang (2021).
    #[default]
    Published,
    /// All of them, in the official splits, or those of `[data.split]` where there are none.
    All,
}

/// The training pictures that UTKFace's sampling keeps, of each value of the bias by itself: all that agree (`label =
/// bias`), and at random `⌊agreeing · (1 − correlation)⌋` of those that conflict, or all if there are fewer. At the published
/// correlation of 0.9 that is one to ten, so that 0.909 of the kept pictures agree. Pictures of other splits are kept.
/// Returns indices, ascending.
///
/// # Errors
/// [`DatasetError::Parameter`] if `correlation` is not in 0..=1.
pub(super) fn thin_conflicting(
    catalogue: &Catalogue,
    bias: &[usize],
    correlation: f64,
    seed: u64,
) -> Result<Vec<usize>, DatasetError> {
    if !(0.0..=1.0).contains(&correlation) {
        return Err(DatasetError::parameter(
            "data.faces.correlation",
            correlation,
            "expected a number from 0 to 1",
        ));
    }
    let train = catalogue.of(Split::Train);
    let left_out = |value: usize| {
        let with_value = train.iter().copied().filter(|&i| bias.get(i) == Some(&value));
        let (agreeing, conflicting): (Vec<usize>, Vec<usize>) =
            with_value.partition(|&i| catalogue.labels.get(i) == Some(&value));
        let count = (agreeing.len() as f64 * (1.0 - correlation)) as usize;
        surplus(&conflicting, count, seed)
    };
    Ok(without(catalogue, [0, 1].into_iter().flat_map(left_out).collect()))
}

/// All pictures, except that at most `most` of `crowded` are kept, drawn with a seed. Returns indices, ascending.
pub(super) fn with_at_most(catalogue: &Catalogue, crowded: &[usize], most: usize, seed: u64) -> Vec<usize> {
    without(catalogue, surplus(crowded, most, seed))
}

/// Those of `crowded`, drawn with a seed, without which `most` are left.
fn surplus(crowded: &[usize], most: usize, seed: u64) -> Vec<usize> {
    let (_, left_out) = split_indices(crowded.len(), crowded.len().saturating_sub(most), seed);
    left_out.into_iter().map(|at| crowded[at]).collect()
}

/// All pictures but some. Returns indices, ascending.
fn without(catalogue: &Catalogue, mut left_out: Vec<usize>) -> Vec<usize> {
    left_out.sort_unstable();
    (0..catalogue.len()).filter(|i| left_out.binary_search(i).is_err()).collect()
}

/// Training pictures split 8:2 with a seed; the fifth becomes `to`.
///
/// # Errors
/// As [`Catalogue::hold_out`].
pub(super) fn hold_out_a_fifth(
    catalogue: Catalogue,
    to: Split,
    seed: u64,
) -> Result<Catalogue, DatasetError> {
    let train = catalogue.of(Split::Train).len();
    catalogue.hold_out(Split::Train, to, train - train_count(train, 0.2), seed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn of_each_bias_one_conflicting_picture_is_kept_for_ten_that_agree() {
        let label = |i: usize| usize::from(i.is_multiple_of(4));
        let labels: Vec<usize> = (0..1000).map(label).collect();
        // Every fifth picture conflicts.
        let bias: Vec<usize> =
            (0..1000).map(|i: usize| if i.is_multiple_of(5) { 1 - label(i) } else { label(i) }).collect();
        let files = (0..1000).map(|i| i.to_string()).collect();
        let mut splits = vec![Split::Train; 1000];
        splits[..100].fill(Split::Test);
        let catalogue = Catalogue::new("c", files, splits, labels, vec!["a".into(), "b".into()]).unwrap();
        let indices = thin_conflicting(&catalogue, &bias, 0.9, 3).unwrap();
        let train: Vec<usize> = indices.iter().copied().filter(|&i| i >= 100).collect();
        assert_eq!(indices.len() - train.len(), 100);
        let count = |class: usize, value: usize| {
            train.iter().filter(|&&i| (label(i), bias[i]) == (class, value)).count()
        };
        // All 45 that conflict with bias 0, where 53 may be kept, and 17 of 135 that conflict with bias 1. 1.0 - 0.9 is a
        // little less than a tenth, in the released code too.
        assert_eq!([count(0, 0), count(1, 0)], [540, 45]);
        assert_eq!([count(1, 1), count(0, 1)], [180, 17]);
        assert_ne!(thin_conflicting(&catalogue, &bias, 0.9, 4).unwrap(), indices);
        assert!(thin_conflicting(&catalogue, &bias, 1.5, 4).is_err());
    }
}
