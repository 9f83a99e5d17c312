//! McNemar's exact test: do two classifiers differ on the same samples?
//!
//! Of the `n` samples that one of them gets right and the other wrong, `k` are right by the first. If neither is better, `k` is
//! binomial with probability 1/2 (McNemar, Psychometrika 1947):
//!
//! ```text
//! p = min(1, 2 · Σ_{i ≤ min(k, n-k)} C(n, i) / 2ⁿ)
//! ```
//!
//! It speaks of these two classifiers on other samples of the same kind, and not of other seeds.
//!
//! Samples of one subject, such as the pictures of a patient, are alike, and many of them say little more than one. Where samples
//! have subjects, the sign of each subject's difference `d_s`, the samples that the first alone gets right minus those that the second
//! alone does, is a fair coin instead of each sample's (the exact form of Durkalski et al., Statistics in Medicine 2003):
//!
//! ```text
//! p = P(|Σ_s ε_s d_s| ≥ |Σ_s d_s|),   ε_s = ±1 with probability 1/2
//! ```
//!
//! With one sample a subject both are the same.

use std::collections::BTreeMap;

/// The two-sided p-value of `first` and `second`, true where each is right, sample by sample; the shorter one counts. 1 where
/// they agree on every sample. With `subjects`, the number of the subject of each sample, it is never below 2 / 2ⁿ for `n` subjects.
pub fn p_value(first: &[bool], second: &[bool], subjects: Option<&[usize]>) -> f64 {
    match subjects {
        Some(subjects) => p_value_of_subjects(first, second, subjects),
        None => p_value_of_samples(first, second),
    }
}

fn p_value_of_samples(first: &[bool], second: &[bool]) -> f64 {
    let only = |wanted: (bool, bool)| {
        first.iter().zip(second).filter(|(first, second)| (**first, **second) == wanted).count()
    };
    let (first, second) = (only((true, false)), only((false, true)));
    let (fewer, all) = (first.min(second), first + second);
    // Logarithms, because 2⁻ⁿ is 0 beyond a thousand samples.
    let mut log_term = -(all as f64) * std::f64::consts::LN_2;
    let mut sum = log_term.exp();
    for at in 0..fewer {
        log_term += ((all - at) as f64 / (at + 1) as f64).ln();
        sum += log_term.exp();
    }
    (2.0 * sum).min(1.0)
}

/// The distribution is counted out in time proportional to the subjects that differ, times the sum of their differences.
fn p_value_of_subjects(first: &[bool], second: &[bool], subjects: &[usize]) -> f64 {
    let mut differences: BTreeMap<usize, i64> = BTreeMap::new();
    for ((first, second), subject) in first.iter().zip(second).zip(subjects) {
        *differences.entry(*subject).or_default() += i64::from(*first) - i64::from(*second);
    }
    let observed = differences.values().sum::<i64>().unsigned_abs() as usize;
    let sizes = differences.values().map(|difference| difference.unsigned_abs() as usize);
    // The probability that the positive signs make up each sum of sizes.
    let mut positive = vec![1.0];
    for size in sizes.filter(|size| *size > 0) {
        let mut next = vec![0.0; positive.len() + size];
        for (sum, probability) in positive.iter().enumerate() {
            next[sum] += probability / 2.0;
            next[sum + size] += probability / 2.0;
        }
        positive = next;
    }
    let all = positive.len() - 1;
    let extreme = positive.iter().enumerate().filter(|(sum, _)| all.abs_diff(2 * sum) >= observed);
    extreme.map(|(_, probability)| probability).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples: right by both, by the first alone, by the second alone, by none.
    fn of([both, first, second, none]: [usize; 4]) -> f64 {
        let repeat = |count, pair| std::iter::repeat_n(pair, count);
        let pairs: Vec<(bool, bool)> = repeat(both, (true, true))
            .chain(repeat(first, (true, false)))
            .chain(repeat(second, (false, true)))
            .chain(repeat(none, (false, false)))
            .collect();
        let (first, second): (Vec<bool>, Vec<bool>) = pairs.into_iter().unzip();
        p_value(&first, &second, None)
    }

    #[test]
    fn p_is_that_of_a_fair_coin() {
        for (counts, expected) in [
            ([5, 0, 0, 5], 1.0),
            ([0, 1, 0, 0], 1.0),
            ([9, 0, 6, 1], 2.0 / 64.0),
            ([0, 2, 8, 0], 2.0 * (1.0 + 10.0 + 45.0) / 1024.0),
            ([3, 5, 5, 3], 1.0),
        ] {
            assert!((of(counts) - expected).abs() < 1e-12, "{counts:?}: {}", of(counts));
            let [both, first, second, none] = counts;
            assert_eq!(of(counts), of([both, second, first, none]), "it is symmetric");
        }
    }

    #[test]
    fn many_samples_agree_with_the_normal_distribution() {
        // z = (|b - c| - 1) / sqrt(b + c) = 1.96: the usual 5 %.
        let p = of([0, 5000 + 99, 5000 - 98, 0]);
        assert!((p - 0.05).abs() < 1e-3, "{p}");
        assert!(of([0, 40_000, 0, 0]) < 1e-300);
    }

    #[test]
    fn a_subject_of_one_sample_counts_as_the_sample_does() {
        let bit = |word: usize, at: usize| word >> (at % 61) & 1 == 1;
        for (a, b) in [(0x5a3c_91e7, 0x1b2d_77f0), (0x0fff_ffff, 0x0f0f_0000), (0x1234, 0x1234)] {
            let (first, second): (Vec<bool>, Vec<bool>) =
                (0..300).map(|at| (bit(a, at * at), bit(b, at * at))).unzip();
            let subjects: Vec<usize> = (0..300).rev().collect();
            let (by_sample, by_subject) =
                (p_value(&first, &second, None), p_value(&first, &second, Some(&subjects)));
            assert!((by_sample - by_subject).abs() < 1e-12 * by_sample, "{by_sample} {by_subject}");
        }
    }

    /* Equivalent Python: d = [3, 2, 2, -1]
    np.mean([abs(np.dot(s, d)) >= abs(sum(d)) for s in itertools.product([1, -1], repeat=4)]) */
    #[test]
    fn subjects_are_coins_of_different_sizes() {
        let repeat = |count, pair| std::iter::repeat_n(pair, count);
        let of_subject = [(3, 0, 1), (2, 0, 0), (3, 1, 4), (1, 2, 2), (1, 1, 0)];
        let (mut pairs, mut subjects) = (Vec::new(), Vec::new());
        for (subject, (first, second, both)) in of_subject.into_iter().enumerate() {
            pairs.extend(repeat(first, (true, false)).chain(repeat(second, (false, true))));
            pairs.extend(repeat(both, (true, true)));
            subjects.resize(pairs.len(), 7 * subject);
        }
        let (first, second): (Vec<bool>, Vec<bool>) = pairs.into_iter().unzip();
        let p = p_value(&first, &second, Some(&subjects));
        assert!((p - 0.25).abs() < 1e-12, "{p}");
        assert_eq!(p, p_value(&second, &first, Some(&subjects)), "it is symmetric");
        // Ten samples of one subject are one coin.
        assert_eq!(p_value(&[true; 10], &[false; 10], Some(&[4; 10])), 1.0);
        assert!(p_value(&[true; 10], &[false; 10], None) < 0.01);
    }

    #[test]
    fn many_subjects_agree_with_the_normal_distribution() {
        // z = Σ d / sqrt(Σ d²) for 2000 subjects of three samples each; the sums are odd or even, so half a step is 1.
        let ahead = 1000 + 45;
        let first: Vec<bool> = (0..6000).map(|at| at / 3 < ahead).collect();
        let second: Vec<bool> = first.iter().map(|right| !right).collect();
        let subjects: Vec<usize> = (0..6000).map(|at| at / 3).collect();
        let p = p_value(&first, &second, Some(&subjects));
        // z = (3 · 90 - 3) / (3 · sqrt(2000)) = 1.990
        assert!((p - 0.0466).abs() < 5e-4, "{p}");
    }
}
