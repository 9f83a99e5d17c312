//! Samples whose class agrees with their bias, and samples whose class conflicts with it: the published samplings
//! of UTKFace and CelebA (Hong and Yang 2021), which ConTeX follows.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::data::catalogue::kept;
use crate::data::{Catalogue, DatasetError, Part, Result};

/// The training pictures that UTKFace's sampling keeps: all that agree (`label = bias`), and at random `⌊agreeing ·
/// (1 − correlation)⌋` of those that conflict. At the published correlation of 0.9 that is one to ten, so that
/// 0.909 of the kept pictures agree. Pictures of other parts are kept. Returns indices, ascending.
///
/// # Errors
/// [`DatasetError::Parameter`] if `correlation` is not in 0..=1.
pub fn thin_conflicting(
    catalogue: &Catalogue,
    bias: &[usize],
    correlation: f64,
    seed: u64,
) -> Result<Vec<usize>> {
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
pub fn with_at_most(catalogue: &Catalogue, crowded: &[usize], most: usize, seed: u64) -> Vec<usize> {
    let mut crowded = crowded.to_vec();
    crowded.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut left_out = crowded.split_off(most.min(crowded.len()));
    left_out.sort_unstable();
    (0..catalogue.len()).filter(|i| left_out.binary_search(i).is_err()).collect()
}

/// Training pictures split 8:2 with a seed; the fifth becomes `to`.
///
/// # Errors
/// As [`Catalogue::hold_out`].
pub(in crate::data) fn hold_out_a_fifth(catalogue: Catalogue, to: Part, seed: u64) -> Result<Catalogue> {
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
        let kept = thin_conflicting(&catalogue, &bias, 0.9, 3).unwrap();
        let train: Vec<usize> = kept.iter().copied().filter(|&i| i >= 100).collect();
        assert_eq!(kept.len() - train.len(), 100);
        let conflicting = train.iter().filter(|&&i| i % 5 == 0).count();
        // 1.0 - 0.9 is a little less than a tenth, in the released code too.
        assert_eq!((train.len() - conflicting, conflicting), (720, 71));
        assert_ne!(thin_conflicting(&catalogue, &bias, 0.9, 4).unwrap(), kept);
        assert!(thin_conflicting(&catalogue, &bias, 1.5, 4).is_err());
    }
}
