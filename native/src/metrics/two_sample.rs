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

    /// The smallest p that groups of these numbers of runs can give; none if a group has no spread.
    pub(crate) fn least(runs: usize, others: usize) -> Option<f64> {
        (runs.min(others) > 1).then(|| least_p_value(runs, others, DRAWS))
    }

    /// `+1.2 [0.3, 2.1], p 0.100`
    pub(crate) fn text(&self, digits: usize) -> String {
        let Self { difference, low, high, p_value, .. } = self;
        let p = p_in_words(*p_value);
        format!("{difference:+.digits$} [{low:.digits$}, {high:.digits$}], {p}")
    }
}

/// A p-value with three digits, or the bound that it is below.
pub(crate) fn p_in_words(p: f64) -> String {
    if p < 0.001 { "p < 0.001".into() } else { format!("p {p:.3}") }
}

/// An explanation of the numbers in [`TwoSampleTest::text`], for the given comparisons, whose numbers of runs may differ.
pub(crate) fn in_words<'a>(compared: impl IntoIterator<Item = &'a TwoSampleTest>) -> Option<String> {
    let compared: Vec<&TwoSampleTest> = compared.into_iter().collect();
    let least = least_in_words(compared.iter().map(|test| test.least_p_value))?;
    let splits = |exact: bool| {
        let same_kind = compared.iter().filter(move |test| test.exact == exact);
        from_to(same_kind.map(|test| test.splits as f64), |count| format!("{count:.0}"))
    };
    let counted =
        splits(true).map(|count| format!("all {count} splits of the runs into two groups are counted"));
    let drawn = splits(false).map(|count| {
        format!(
            "{count} splits of the runs into two groups are drawn with seed {SEED}, p = (1 + as far apart) / (1 + drawn)"
        )
    });
    let splits = counted.into_iter().chain(drawn).collect::<Vec<_>>().join("; where there are more, ");
    Some(format!(
        "the difference of the means, its 95 % percentile bootstrap interval (each group resampled on its own; too narrow \
         with few seeds), and p of a two-sided permutation test of that difference: the share of splits whose means lie at \
         least as far apart; {splits}, so p cannot fall below {least}. Seeds are not paired"
    ))
}

/// The smallest p of comparisons, in words; none if there are none.
pub(crate) fn least_in_words(least: impl Iterator<Item = f64>) -> Option<String> {
    let write = |p: f64| {
        // Three digits as p itself, and more where these hold fewer than two significant ones.
        let digits = (1.0 - p.log10().floor()).clamp(3.0, 9.0) as usize;
        format!("{p:.digits$}")
    };
    let range = from_to(least, write)?;
    Some(if range.contains(' ') { format!("{range}, by the number of seeds") } else { range })
}

/// The smallest of some values and the largest, if that is written differently; none if there are none.
fn from_to(values: impl Iterator<Item = f64>, write: impl Fn(f64) -> String) -> Option<String> {
    let (low, high) = values
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))?;
    let [low, high] = [low, high].map(write);
    Some(if low == high { low } else { format!("{low} to {high}") })
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
    fn comparisons_of_fewer_seeds_have_their_own_least_p() {
        let of = |runs: &[f64], others: &[f64]| TwoSampleTest::of(runs, others).unwrap().unwrap();
        let (three, two) = (of(&[80.0, 82.0, 84.0], &[70.0, 71.0, 72.0]), of(&[80.0, 82.0], &[70.0, 71.0]));
        let words = in_words([&three, &two]).unwrap();
        assert!(words.contains("all 6 to 20 splits"), "{words}");
        assert!(words.contains("below 0.100 to 0.333, by the number of seeds"), "{words}");
        assert_eq!((TwoSampleTest::least(3, 3), TwoSampleTest::least(3, 1)), (Some(0.1), None));
    }

    #[test]
    fn a_p_of_many_seeds_is_not_written_as_zero() {
        let in_words = |runs: usize| least_in_words(TwoSampleTest::least(runs, runs).into_iter()).unwrap();
        assert_eq!([3, 5, 8].map(in_words), ["0.100", "0.0079", "0.00016"]);
        let high: Vec<f64> = (0..8).map(|run| 80.0 + f64::from(run)).collect();
        let low: Vec<f64> = high.iter().map(|value| value - 20.0).collect();
        let text = TwoSampleTest::of(&high, &low).unwrap().unwrap().text(1);
        assert!(text.starts_with("+20.0 [") && text.ends_with("], p < 0.001"), "{text}");
        assert_eq!(p_in_words(0.0312), "p 0.031");
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
