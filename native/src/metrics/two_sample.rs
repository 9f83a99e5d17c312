//! The comparison of two groups of runs: the difference of their means, and its significance over seeds.

use anyhow::Result;
use serde::Serialize;
use simile_core::eval::permutation::{bootstrap_difference, least_p_value, permutation_test};
use simile_core::train::{Purpose, stream};

/// Number of random splits and resamples, where there are too many to enumerate.
const DRAWS: u64 = 10_000;
/// The seed of the draws.
const SEED: u64 = 0;
/// The level of the interval: its share of the resampled differences.
const LEVEL: f64 = 0.95;

/// One group of runs against another.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TwoSampleTest {
    /// Mean of the first minus mean of the second.
    pub(crate) difference: f64,
    /// Percentile bootstrap interval of it, 95 %.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Two-sided permutation test of it.
    pub(crate) p_value: f64,
    /// The smallest p that this number of runs can give.
    pub(crate) least_p_value: f64,
    /// Number of splits of the runs that were enumerated, or drawn.
    pub(crate) splits: u64,
    /// True if all splits were enumerated.
    pub(crate) exact: bool,
}

impl TwoSampleTest {
    /// Compares `runs` with `others`; none if a side has fewer than two runs, which have no spread.
    ///
    /// # Errors
    /// If a value is not finite.
    pub(crate) fn of(runs: &[f64], others: &[f64]) -> Result<Option<Self>> {
        if runs.len() < 2 || others.len() < 2 {
            return Ok(None);
        }
        let mut rng = stream(SEED, Purpose::Objective, 0);
        let test = permutation_test(runs, others, DRAWS, &mut rng)?;
        let interval = bootstrap_difference(runs, others, LEVEL, DRAWS, &mut rng)?;
        Ok(Some(Self {
            difference: test.difference,
            low: interval.low,
            high: interval.high,
            p_value: test.p_value,
            least_p_value: least_p_value(runs.len(), others.len(), DRAWS),
            splits: test.cases,
            exact: test.exact,
        }))
    }

    /// `+1.2 [0.3, 2.1], p 0.100`
    pub(crate) fn text(&self, digits: usize) -> String {
        let Self { difference, low, high, p_value, .. } = self;
        format!("{difference:+.digits$} [{low:.digits$}, {high:.digits$}], p {p_value:.3}")
    }
}

/// An explanation of the numbers in [`TwoSampleTest::text`], for the given comparisons.
pub(crate) fn in_words<'a>(compared: impl IntoIterator<Item = &'a TwoSampleTest>) -> Option<String> {
    let first = compared.into_iter().next()?;
    let splits = if first.exact {
        format!("all {} splits of the runs into two groups are counted", first.splits)
    } else {
        format!(
            "{} splits of the runs into two groups are drawn with seed {SEED}, p = (1 + as far apart) / (1 + drawn)",
            first.splits
        )
    };
    Some(format!(
        "the difference of the means, its 95 % percentile bootstrap interval (each group resampled on its own; too narrow \
         with few seeds), and p of a two-sided permutation test of that difference: the share of splits whose means lie at \
         least as far apart; {splits}, so that p cannot fall below {:.3}. Seeds are not paired",
        first.least_p_value
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn three_seeds_a_side_say_what_they_cannot() {
        let test = TwoSampleTest::of(&[80.0, 82.0, 84.0], &[70.0, 71.0, 72.0]).unwrap().unwrap();
        // Two of the twenty splits are as far apart: this is the smallest p of three seeds.
        assert!((test.p_value - 0.1).abs() < 1e-12 && (test.least_p_value - 0.1).abs() < 1e-12);
        assert!(test.exact && test.splits == 20);
        assert_eq!(test.difference, 11.0);
        assert!(8.0 <= test.low && test.low < 11.0 && 11.0 < test.high && test.high <= 14.0);
        let words = in_words([&test]).unwrap();
        assert!(words.contains("all 20 splits") && words.contains("below 0.100"), "{words}");
    }

    #[test]
    fn one_seed_is_not_tested_and_many_are_drawn() {
        assert!(TwoSampleTest::of(&[1.0], &[2.0, 3.0]).unwrap().is_none());
        let many: Vec<f64> = (0..15).map(f64::from).collect();
        let test = TwoSampleTest::of(&many, &many).unwrap().unwrap();
        assert!(!test.exact && test.least_p_value < 0.001);
        assert!(in_words([&test]).unwrap().contains("10000 splits of the runs into two groups are drawn"));
    }
}
