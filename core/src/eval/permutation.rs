//! Does the difference between runs exceed the variation between seeds? Permutation tests and bootstrap intervals,
//! exact if all cases can be counted and by seeded draws otherwise.
//!
//! With three seeds a side no test can go below p = 2 / C(6, 3) = 0.1: the results report the number of cases.
//!
//! ConTeX marks results by a permutation test at 0.05, but states neither its statistic nor the number of runs or permutations;
//! these tests are ours.

use rand::{Rng, RngExt as _};

use crate::error::{Error, Result};

/// Up to this many cases are enumerated instead of drawn.
pub const ENUMERATED: u64 = 100_000;
/// Two statistics closer than this, relative to the largest value, are equal: their sums differ in order only.
const ROUNDING: f64 = 1e-12;

/// Outcome of a permutation test.
#[derive(Debug, Clone, PartialEq)]
pub struct PermutationTest {
    /// Mean of the first runs minus mean of the second.
    pub difference: f64,
    /// Two-sided: the fraction of cases whose absolute difference is at least the one observed. With draws it
    /// is `(1 + hits) / (1 + draws)`, which is never 0.
    pub p_value: f64,
    /// Cases enumerated or drawn.
    pub cases: u64,
    /// True if every case was counted.
    pub exact: bool,
}

/// Outcome of a bootstrap.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The statistic of the original runs.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Resamples enumerated or drawn.
    pub cases: u64,
    /// True if every resample was counted, with its probability.
    pub exact: bool,
}

/// Two-sided permutation test of the difference of means between two independent groups of runs.
///
/// Every split of the pooled runs into groups of these sizes is equally likely under the null hypothesis. All
/// `C(n + m, n)` splits are counted if there are at most [`ENUMERATED`]; otherwise `draws` are taken from
/// `rng`.
///
/// # Errors
/// [`Error::Degenerate`] if a group is empty, [`Error::NotFinite`] for a bad value, [`Error::Parameter`] if
/// draws are needed and `draws` is 0.
pub fn permutation_test(
    first: &[f64],
    second: &[f64],
    draws: u64,
    rng: &mut impl Rng,
) -> Result<PermutationTest> {
    check("first", first)?;
    check("second", second)?;
    let (n, m) = (first.len(), second.len());
    let mut pooled: Vec<f64> = first.iter().chain(second).copied().collect();
    let total: f64 = pooled.iter().sum();
    let statistic = |sum: f64| sum / n as f64 - (total - sum) / m as f64;
    let difference = statistic(first.iter().sum());
    let least = threshold(difference, &pooled);
    match choose(n + m, n) {
        Some(cases) if cases <= ENUMERATED => {
            let mut hits = 0_u64;
            for_each_subset(n + m, n, |chosen| {
                hits += u64::from(statistic(chosen.iter().map(|&i| pooled[i]).sum()).abs() >= least);
            });
            Ok(PermutationTest { difference, p_value: hits as f64 / cases as f64, cases, exact: true })
        }
        _ => {
            let hits = draw(draws, || {
                for i in 0..n {
                    let j = rng.random_range(i..n + m);
                    pooled.swap(i, j);
                }
                statistic(pooled[..n].iter().sum()).abs() >= least
            })?;
            Ok(from_draws(difference, hits, draws))
        }
    }
}

/// Percentile bootstrap interval of the difference of means between two independent groups of runs, each resampled
/// independently.
///
/// The ends are the `(1 - level) / 2` and `(1 + level) / 2` quantiles (inverse of the distribution function) of the
/// difference, where each mean is that of as many runs as its group has, drawn with replacement. All resamples of a
/// group of `n` runs, `C(2n - 1, n)` with their multinomial probabilities, are paired with all of the other group if
/// there are at most [`ENUMERATED`] pairs; otherwise `draws` are taken from `rng`. With few seeds the interval is too
/// narrow, as for every bootstrap: a mean cannot leave the range of its runs.
///
/// # Errors
/// [`Error::Degenerate`] without runs, [`Error::NotFinite`] for a bad value, [`Error::Parameter`] unless `level` is
/// between 0 and 1, or if draws are needed and `draws` is 0.
pub fn bootstrap_difference(
    first: &[f64],
    second: &[f64],
    level: f64,
    draws: u64,
    rng: &mut impl Rng,
) -> Result<Interval> {
    check("first", first)?;
    check("second", second)?;
    let estimate = mean(first) - mean(second);
    let cases = multisets(first.len()).zip(multisets(second.len())).and_then(|(a, b)| a.checked_mul(b));
    match cases.filter(|&cases| cases <= ENUMERATED) {
        Some(cases) => {
            let second = resampled_means(second);
            let pairs = resampled_means(first)
                .into_iter()
                .flat_map(|(a, p)| second.iter().map(move |(b, q)| (a - b, p * q)))
                .collect();
            interval(estimate, pairs, level, cases, true)
        }
        None => {
            let differences =
                draw_values(draws, || resampled_mean(first, rng) - resampled_mean(second, rng))?;
            interval(estimate, differences, level, draws, false)
        }
    }
}

/// The smallest p that [`permutation_test`] can give for any groups of `n` and `m` runs. Of `C(n + m, n)` counted
/// splits, the observed one always reaches its own difference, and so does its mirror image if the groups have
/// equal size; of `draws` drawn splits possibly none does.
pub fn least_p_value(n: usize, m: usize, draws: u64) -> f64 {
    match choose(n + m, n) {
        Some(cases) if cases <= ENUMERATED => (if n == m { 2.0 } else { 1.0 }) / cases as f64,
        _ => 1.0 / (1.0 + draws as f64),
    }
}

fn check(name: &str, runs: &[f64]) -> Result<()> {
    if runs.is_empty() {
        return Err(Error::Degenerate {
            reason: format!("`{name}` holds no run"),
            remedy: "compare at least one run on each side".into(),
        });
    }
    match runs.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
    }
}

fn mean(runs: &[f64]) -> f64 {
    runs.iter().sum::<f64>() / runs.len() as f64
}

fn threshold(difference: f64, pooled: &[f64]) -> f64 {
    difference.abs() - ROUNDING * pooled.iter().fold(0.0_f64, |most, v| most.max(v.abs()))
}

fn from_draws(difference: f64, hits: u64, draws: u64) -> PermutationTest {
    let p_value = (1 + hits) as f64 / (1 + draws) as f64;
    PermutationTest { difference, p_value, cases: draws, exact: false }
}

fn draw(draws: u64, mut hit: impl FnMut() -> bool) -> Result<u64> {
    check_draws(draws)?;
    Ok((0..draws).map(|_| u64::from(hit())).sum())
}

fn draw_values(draws: u64, mut value: impl FnMut() -> f64) -> Result<Vec<(f64, f64)>> {
    check_draws(draws)?;
    Ok((0..draws).map(|_| (value(), 1.0 / draws as f64)).collect())
}

fn check_draws(draws: u64) -> Result<()> {
    if draws == 0 {
        return Err(Error::parameter(
            "draws",
            0,
            "there are too many cases to count, so expected at least 1",
        ));
    }
    Ok(())
}

/// `n` over `k`, if it does not overflow.
fn choose(n: usize, k: usize) -> Option<u64> {
    let mut value = 1_u64;
    for i in 0..k.min(n - k) as u64 {
        value = value.checked_mul(n as u64 - i)? / (i + 1);
    }
    Some(value)
}

/// Number of multisets of size `n` among `n` values.
fn multisets(n: usize) -> Option<u64> {
    choose(2 * n - 1, n)
}

/// Calls `visit` with every increasing sequence of `k` indices below `n`.
fn for_each_subset(n: usize, k: usize, mut visit: impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        visit(&chosen);
        let Some(at) = (0..k).rev().find(|&i| chosen[i] < n - k + i) else { return };
        chosen[at] += 1;
        for i in at + 1..k {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

/// The mean of every multiset of runs, with its probability.
fn resampled_means(runs: &[f64]) -> Vec<(f64, f64)> {
    let n = runs.len();
    let mut means = Vec::new();
    for_each_subset(2 * n - 1, n, |chosen| {
        let (mut sum, mut probability, mut repeat) = (0.0, 1.0, 1.0);
        for (position, &slot) in chosen.iter().enumerate() {
            let same = position > 0 && chosen[position - 1] + 1 == slot;
            repeat = if same { repeat + 1.0 } else { 1.0 };
            sum += runs[slot - position];
            probability *= (position + 1) as f64 / n as f64 / repeat;
        }
        means.push((sum / n as f64, probability));
    });
    means
}

fn resampled_mean(runs: &[f64], rng: &mut impl Rng) -> f64 {
    (0..runs.len()).map(|_| runs[rng.random_range(0..runs.len())]).sum::<f64>() / runs.len() as f64
}

fn interval(
    estimate: f64,
    mut cases: Vec<(f64, f64)>,
    level: f64,
    count: u64,
    exact: bool,
) -> Result<Interval> {
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::parameter("level", level, "expected a number between 0 and 1, such as 0.95"));
    }
    cases.sort_by(|a, b| a.0.total_cmp(&b.0));
    let quantile = |probability: f64| {
        let mut below = 0.0;
        let first = cases.iter().find(|(_, weight)| {
            below += weight;
            below >= probability - ROUNDING
        });
        first.or(cases.last()).map_or(estimate, |case| case.0)
    };
    let (low, high) = (quantile((1.0 - level) / 2.0), quantile((1.0 + level) / 2.0));
    Ok(Interval { estimate, low, high, cases: count, exact })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    const FIRST: [f64; 4] = [96.1, 95.4, 96.8, 95.9];

    fn rng() -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(11)
    }

    /// The interval of the mean of `runs`: that of its difference from a group of one run, which is 0.
    fn bootstrap_mean(runs: &[f64], level: f64, draws: u64) -> Result<Interval> {
        bootstrap_difference(runs, &[0.0], level, draws, &mut rng())
    }

    /* Equivalent Python:
    permutation_test((a, b), lambda x, y: abs(np.mean(x) - np.mean(y)), alternative="greater", n_resamples=np.inf)
    of scipy.stats, whose own two-sided value is twice the smaller tail instead. */
    #[test]
    fn the_exact_test_agrees_with_scipy() {
        let test = permutation_test(&FIRST, &[94.9, 95.6, 95.0], 0, &mut rng()).unwrap();
        assert!((test.difference - 0.88333333333334).abs() < 1e-12);
        assert!((test.p_value - 0.08571428571428572).abs() < 1e-12);
        assert_eq!((test.cases, test.exact), (35, true));
    }

    #[test]
    fn three_seeds_a_side_cannot_go_below_one_tenth() {
        let test = permutation_test(&[9.0, 9.1, 9.2], &[1.0, 1.1, 1.2], 0, &mut rng()).unwrap();
        assert!((test.p_value - 0.1).abs() < 1e-15);
        assert_eq!(least_p_value(3, 3, 0), test.p_value);
        let test = permutation_test(&[9.0, 9.1], &[1.0, 1.1, 1.2], 0, &mut rng()).unwrap();
        assert_eq!(least_p_value(2, 3, 0), test.p_value);
        let test = permutation_test(&[9.0; 15], &[1.0; 15], 99, &mut rng()).unwrap();
        assert_eq!(least_p_value(15, 15, 99), test.p_value);
    }

    #[test]
    fn drawn_tests_come_near_the_exact_ones() {
        let (a, b) = ([1.0, 2.5, 2.0, 3.5, 2.2, 1.9, 2.7, 3.1], [2.0, 1.5, 1.8, 2.4, 1.1, 2.1, 1.3, 2.6]);
        let exact = permutation_test(&a, &b, 0, &mut rng()).unwrap();
        let long = |x: &[f64; 8]| x.repeat(3);
        let drawn = permutation_test(&long(&a), &long(&b), 4000, &mut rng()).unwrap();
        assert!(exact.exact && !drawn.exact && drawn.cases == 4000);
        assert!(drawn.p_value < exact.p_value, "three times the runs are stronger evidence");
        assert_eq!(drawn, permutation_test(&long(&a), &long(&b), 4000, &mut rng()).unwrap());
        let null = permutation_test(&long(&a), &long(&a), 4000, &mut rng()).unwrap();
        assert_eq!(null.p_value, 1.0);
    }

    #[test]
    fn drawn_p_values_are_never_zero() {
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..15).map(|i| 100.0 + f64::from(i)).collect(), (0..15).map(f64::from).collect());
        let test = permutation_test(&a, &b, 200, &mut rng()).unwrap();
        assert!((test.p_value - 1.0 / 201.0).abs() < 1e-15);
    }

    /* Equivalent Python: m = sorted(np.mean(t) for t in itertools.product([95.0, 96.5, 94.2], repeat=3));
    [m[ceil(27 * q) - 1] for q in (.25, .75)] */
    #[test]
    fn the_exact_bootstrap_counts_every_resample() {
        let runs = [95.0, 96.5, 94.2];
        let half = bootstrap_mean(&runs, 0.5, 0).unwrap();
        assert!(
            (half.low - 94.73333333333333).abs() < 1e-12 && (half.high - 95.73333333333333).abs() < 1e-12
        );
        assert_eq!((half.cases, half.exact), (10, true));
        let wide = bootstrap_mean(&runs, 0.95, 0).unwrap();
        assert!((wide.low - 94.2).abs() < 1e-12 && (wide.high - 96.5).abs() < 1e-12);
        assert!((wide.estimate - 95.23333333333333).abs() < 1e-12);
        let total: f64 = resampled_means(&[1.0, 2.0, 3.0, 4.0, 5.0]).iter().map(|m| m.1).sum();
        assert!((total - 1.0).abs() < 1e-12);
    }

    /* Equivalent Python: scipy.stats.bootstrap(runs, statistic, method="percentile", confidence_level=0.9,
    n_resamples=400_000) with the mean of a, and with the difference of the means of a and b. */
    #[test]
    fn exact_intervals_agree_with_scipy() {
        let interval = bootstrap_mean(&FIRST, 0.9, 0).unwrap();
        assert!(
            (interval.low - 95.65).abs() < 1e-12 && (interval.high - 96.45).abs() < 1e-12,
            "{interval:?}"
        );
        let interval_of_differences =
            bootstrap_difference(&FIRST, &[94.9, 95.6, 95.0], 0.9, 0, &mut rng()).unwrap();
        assert!(
            (interval_of_differences.low - 0.375).abs() < 1e-9
                && (interval_of_differences.high - 1.408_333_333).abs() < 1e-9,
            "{interval_of_differences:?}"
        );
    }

    #[test]
    fn drawn_intervals_come_near_the_normal_one_and_nest() {
        let runs: Vec<f64> = (0..40).map(|i| f64::from((i * 17) % 40)).collect();
        let wide = bootstrap_mean(&runs, 0.95, 4000).unwrap();
        let half = 1.96 * 11.54 / 40_f64.sqrt();
        assert!(
            !wide.exact && (wide.low - (19.5 - half)).abs() < 0.3 && (wide.high - (19.5 + half)).abs() < 0.3
        );
        let narrow = bootstrap_mean(&runs, 0.5, 4000).unwrap();
        assert!(wide.low < narrow.low && narrow.high < wide.high);
        let difference = bootstrap_difference(&runs, &[0.0, 1.0, 2.0], 0.95, 2000, &mut rng()).unwrap();
        assert!(difference.low > 10.0 && difference.high < 27.0 && !difference.exact);
    }

    #[test]
    fn the_interval_of_a_difference_turns_with_its_sides() {
        let second = [94.9, 95.6, 95.0];
        let there = bootstrap_difference(&FIRST, &second, 0.9, 0, &mut rng()).unwrap();
        let back = bootstrap_difference(&second, &FIRST, 0.9, 0, &mut rng()).unwrap();
        assert!(there.exact && there.cases == 350);
        assert!((there.low + back.high).abs() < 0.1 && (there.high + back.low).abs() < 0.1);
        assert!(there.low <= there.estimate && there.estimate <= there.high);
    }

    #[test]
    fn unusable_runs_are_typed_errors() {
        assert!(matches!(permutation_test(&[], &[1.0], 9, &mut rng()), Err(Error::Degenerate { .. })));
        assert!(matches!(permutation_test(&[f64::NAN], &[1.0], 9, &mut rng()), Err(Error::NotFinite { .. })));
        assert!(matches!(bootstrap_mean(&[1.0], 1.0, 9), Err(Error::Parameter { .. })));
        assert!(matches!(
            permutation_test(&[0.0; 30], &[0.0; 30], 0, &mut rng()),
            Err(Error::Parameter { .. })
        ));
    }
}
