//! Splits of samples in two parts at random. The same seed gives the same parts.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// `0..len` split at random into `len - held_out` and `held_out` indices, both ascending.
pub fn split_indices(len: usize, held_out: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..len).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut held_out = order.split_off(len.saturating_sub(held_out));
    order.sort_unstable();
    held_out.sort_unstable();
    (order, held_out)
}

/// Samples split at random into two parts that share no subject: `(the rest, held_out)`, both ascending. `subjects` has the number of
/// the subject of each sample. Whole subjects are held out, in a random order, as long as they have at most `held_out` samples
/// together; where each has more, the smallest one is. `None` if all samples are of one subject, or `held_out` is 0.
pub fn split_subjects(subjects: &[usize], held_out: usize, seed: u64) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut by_subject: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (sample, &subject) in subjects.iter().enumerate() {
        by_subject.entry(subject).or_default().push(sample);
    }
    let mut samples: Vec<Vec<usize>> = by_subject.into_values().collect();
    if samples.len() < 2 || held_out == 0 {
        return None;
    }
    samples.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut held_samples: Vec<usize> = Vec::new();
    // The first subject is left in any case.
    for samples in &samples[1..] {
        if held_samples.len() + samples.len() <= held_out {
            held_samples.extend(samples);
        }
    }
    if held_samples.is_empty() {
        held_samples.extend(samples.iter().min_by_key(|samples| samples.len()).into_iter().flatten());
    }
    held_samples.sort_unstable();
    let rest = (0..subjects.len()).filter(|sample| held_samples.binary_search(sample).is_err()).collect();
    Some((rest, held_samples))
}

/// The samples that [`split_validation`] splits, for each that it holds out.
const SAMPLES_FOR_EACH_HELD_OUT: usize = 5;

/// `0..samples`, or `most` of them, split at random into those for fitting and a fifth for validation, both ascending; `None` if there
/// are too few to hold one out. If the number of the subject of each sample is given, the two parts share no subject, as by
/// [`split_subjects`].
pub fn split_validation(
    samples: usize,
    subjects: Option<&[usize]>,
    most: usize,
    seed: u64,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut order: Vec<usize> = (0..samples).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order.truncate(most);
    let held_out = order.len() / SAMPLES_FOR_EACH_HELD_OUT;
    let (mut fitted, mut validation) = match subjects {
        None => {
            let validation = order.split_off(order.len() - held_out);
            (order, validation)
        }
        Some(subjects) => {
            let (fitted, validation) = split_subjects(&select(subjects, &order), held_out, seed)?;
            (select(&order, &fitted), select(&order, &validation))
        }
    };
    fitted.sort_unstable();
    validation.sort_unstable();
    (!validation.is_empty()).then_some((fitted, validation))
}

/// The entries `indices` of a list, in that order.
pub(crate) fn select(list: &[usize], indices: &[usize]) -> Vec<usize> {
    indices.iter().filter_map(|&at| list.get(at).copied()).collect()
}

/// The reason why samples cannot be held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldOutFault {
    /// One of the two parts of so many samples would be empty.
    Count { samples: usize },
    /// All samples are of one subject.
    OneSubject,
}

impl HoldOutFault {
    /// The reason in words, after the number to hold out; `things` is the word for samples.
    pub(crate) fn reason(self, things: &str) -> String {
        match self {
            Self::Count { samples } => {
                format!("expected 1 to {} of {samples} {things}", samples.saturating_sub(1))
            }
            Self::OneSubject => {
                format!(
                    "all {things} are of one subject, which is held out as a whole; name other subjects, or none"
                )
            }
        }
    }
}

/// `0..samples` split at random into `(the rest, held_out)`, both ascending and neither empty: with `count` samples in the second, or
/// with whole subjects, as by [`split_subjects`], if the number of the subject of each sample is given.
///
/// # Errors
/// If one of the parts would be empty.
pub(crate) fn hold_out(
    samples: usize,
    subjects: Option<&[usize]>,
    count: usize,
    seed: u64,
) -> Result<(Vec<usize>, Vec<usize>), HoldOutFault> {
    if count == 0 || count >= samples {
        return Err(HoldOutFault::Count { samples });
    }
    match subjects {
        Some(subjects) => split_subjects(subjects, count, seed).ok_or(HoldOutFault::OneSubject),
        None => Ok(split_indices(samples, count, seed)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(rest: Vec<usize>, held_out: Vec<usize>) -> Vec<usize> {
        assert!(rest.is_sorted() && held_out.is_sorted());
        let mut all = [rest, held_out].concat();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_split_is_a_partition_that_depends_on_the_seed_alone() {
        let (rest, held_out) = split_indices(1000, 100, 7);
        assert_eq!((rest.len(), held_out.len()), (900, 100));
        assert_eq!(split_indices(1000, 100, 7).1, held_out);
        assert_ne!(split_indices(1000, 100, 8).1, held_out);
        assert_eq!(all(rest, held_out), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn no_subject_is_in_both_parts() {
        // Subjects of 1 to 7 samples, which are not neighbours.
        let subjects: Vec<usize> = (0..1000).map(|i| (i * i) % 251).collect();
        for seed in 0..5 {
            let (rest, held_out) = split_subjects(&subjects, 200, seed).unwrap();
            assert!((190..=200).contains(&held_out.len()), "{}", held_out.len());
            assert!(!held_out.iter().any(|&at| rest.iter().any(|&other| subjects[other] == subjects[at])));
            assert_eq!(split_subjects(&subjects, 200, seed).unwrap().1, held_out);
            assert_ne!(split_subjects(&subjects, 200, seed + 9).unwrap().1, held_out);
            assert_eq!(all(rest, held_out), (0..1000).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_part_is_never_empty() {
        let sizes = |held_out| {
            let (rest, held) = split_subjects(&[5, 5, 5, 9, 9, 2, 2, 2, 2], held_out, 3).unwrap();
            (rest.len(), held.len())
        };
        assert_eq!(sizes(1), (7, 2), "the smallest subject, although it is larger");
        assert!(sizes(100).0 > 0, "a subject is left");
        for (subjects, held_out) in [(&[1, 1, 1][..], 1), (&[], 1), (&[1, 2], 0)] {
            assert_eq!(split_subjects(subjects, held_out, 0), None);
        }
    }

    #[test]
    fn a_number_that_leaves_a_part_empty_is_refused() {
        assert_eq!(hold_out(9, None, 8, 0).unwrap(), split_indices(9, 8, 0));
        for (count, samples) in [(0, 9), (9, 9), (10, 9), (0, 0)] {
            let subjects: Vec<usize> = (0..samples).collect();
            for subjects in [None, Some(subjects.as_slice())] {
                assert_eq!(hold_out(samples, subjects, count, 0), Err(HoldOutFault::Count { samples }));
            }
        }
        assert_eq!(hold_out(3, Some(&[7; 3]), 1, 0), Err(HoldOutFault::OneSubject));
        assert_eq!(hold_out(4, Some(&[7, 8, 7, 8]), 1, 3).unwrap().1.len(), 2, "a whole subject");
        assert_eq!(HoldOutFault::Count { samples: 0 }.reason("pictures"), "expected 1 to 0 of 0 pictures");
    }

    #[test]
    fn a_fifth_is_held_out_of_what_there_is() {
        let (fitted, validation) = split_validation(103, None, usize::MAX, 3).unwrap();
        assert_eq!((fitted.len(), validation.len()), (83, 20));
        assert_eq!(all(fitted, validation), (0..103).collect::<Vec<_>>());
        let (fitted, validation) = split_validation(1000, None, 50, 3).unwrap();
        assert_eq!((fitted.len(), validation.len()), (40, 10));
        assert_eq!(split_validation(4, None, 50, 3), None);
    }

    #[test]
    fn no_subject_is_both_fitted_to_and_held_out() {
        let subjects: Vec<usize> = (0..1000).map(|i| i / 3).collect();
        let (fitted, validation) = split_validation(1000, Some(&subjects), 600, 3).unwrap();
        assert_eq!((fitted.len(), validation.len()), (480, 120));
        assert!(!validation.iter().any(|&at| fitted.iter().any(|&other| subjects[other] == subjects[at])));
        assert_eq!(split_validation(1000, Some(&[7; 1000]), 600, 3), None);
    }
}
