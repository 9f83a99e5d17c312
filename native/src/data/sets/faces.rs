//! UTKFace and CelebA share the section `[data.faces]` and the way in which Hong and Yang (2021), whom ConTeX follows, sample
//! them: by the pictures whose class agrees with their bias, and those whose class conflicts with it.

use serde::{Deserialize, Serialize};
use simile_core::data::catalogue::kept;
use simile_core::data::{Catalogue, DatasetError, Part, split_indices};

use crate::data::options::OwnOption;

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

impl OwnOption for FacesSection {
    const KEY: &'static str = "faces";

    fn check(&self) -> Result<(), String> {
        let within = (0.0..=1.0).contains(&self.correlation);
        if within { Ok(()) } else { Err("`data.faces.correlation` must be from 0 to 1".into()) }
    }
}

/// The selection of the faces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sampling {
    /// The sampling of Hong and Yang (2021).
    #[default]
    Published,
    /// All of them, in the official parts, or those of `[data.split]` where there are none.
    All,
}

/// The training pictures that UTKFace's sampling keeps: all that agree (`label = bias`), and at random `⌊agreeing ·
/// (1 − correlation)⌋` of those that conflict. At the published correlation of 0.9 that is one to ten, so that
/// 0.909 of the kept pictures agree. Pictures of other parts are kept. Returns indices, ascending.
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
        return Err(DatasetError::parameter("correlation", correlation, "expected a number from 0 to 1"));
    }
    let agrees = |&i: &usize| catalogue.labels.get(i) == bias.get(i);
    let (agreeing, conflicting): (Vec<usize>, Vec<usize>) =
        catalogue.of(Part::Train).into_iter().partition(agrees);
    let count = (agreeing.len() as f64 * (1.0 - correlation)) as usize;
    Ok(with_at_most(catalogue, &conflicting, count, seed))
}

/// All pictures, except that at most `most` of `crowded` are kept, drawn with a seed. Returns indices, ascending.
pub(super) fn with_at_most(catalogue: &Catalogue, crowded: &[usize], most: usize, seed: u64) -> Vec<usize> {
    let (_, left_out) = split_indices(crowded.len(), crowded.len().saturating_sub(most), seed);
    let mut left_out: Vec<usize> = left_out.into_iter().map(|at| crowded[at]).collect();
    left_out.sort_unstable();
    (0..catalogue.len()).filter(|i| left_out.binary_search(i).is_err()).collect()
}

/// Training pictures split 8:2 with a seed; the fifth becomes `to`.
///
/// # Errors
/// As [`Catalogue::hold_out`].
pub(super) fn hold_out_a_fifth(catalogue: Catalogue, to: Part, seed: u64) -> Result<Catalogue, DatasetError> {
    let train = catalogue.of(Part::Train).len();
    catalogue.hold_out(Part::Train, to, train - kept(train, 0.2), seed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_conflicting_picture_is_kept_for_ten_that_agree() {
        let labels: Vec<usize> = (0..1000).map(|i| i % 2).collect();
        // Every fifth picture conflicts.
        let bias: Vec<usize> = (0..1000).map(|i| if i % 5 == 0 { (i + 1) % 2 } else { i % 2 }).collect();
        let files = (0..1000).map(|i| i.to_string()).collect();
        let mut parts = vec![Part::Train; 1000];
        parts[..100].fill(Part::Test);
        let catalogue = Catalogue::new("c", files, parts, labels, vec!["a".into(), "b".into()]).unwrap();
        let indices = thin_conflicting(&catalogue, &bias, 0.9, 3).unwrap();
        let train: Vec<usize> = indices.iter().copied().filter(|&i| i >= 100).collect();
        assert_eq!(indices.len() - train.len(), 100);
        let conflicting = train.iter().filter(|&&i| i % 5 == 0).count();
        // 1.0 - 0.9 is a little less than a tenth, in the released code too.
        assert_eq!((train.len() - conflicting, conflicting), (720, 71));
        assert_ne!(thin_conflicting(&catalogue, &bias, 0.9, 4).unwrap(), indices);
        assert!(thin_conflicting(&catalogue, &bias, 1.5, 4).is_err());
    }
}
