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

/// The two-sided p-value of `first` and `second`, true where each is right, sample by sample; the shorter one counts. 1 where
/// they agree on every sample.
pub fn p_value(first: &[bool], second: &[bool]) -> f64 {
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
        p_value(&first, &second)
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
}
