//! Measures of how closely an attribute is tied to groups, such as the classes: 0 if it is independent of them, 1 if one follows from the
//! other. Both are corrected for the tie that chance makes where values are few.

/// Cramér's V with the correction of its bias, of the counts of pictures by group and value, over the `k` rows and `r` columns that occur;
/// none if there is one of either, or if every picture has a value of its own. Without the correction it is far from 0 where few pictures
/// have independent variables of many values.
///
/// Bergsma, "A bias-correction for Cramér's V and Tschuprow's T", Journal of the Korean Statistical Society 42 (2013):
/// `V = sqrt(φ̃² / min(k̃ − 1, r̃ − 1))`, where `φ̃² = max(0, χ²/n − (k − 1)(r − 1)/(n − 1))` and
/// `k̃ = k − (k − 1)²/(n − 1)`, `r̃` likewise.
pub(crate) fn cramers_v(counts: &[Vec<usize>]) -> Option<f64> {
    let rows: Vec<f64> = counts.iter().map(|row| row.iter().sum::<usize>() as f64).collect();
    let width = counts.first().map_or(0, Vec::len);
    let columns: Vec<f64> =
        (0..width).map(|column| counts.iter().map(|row| row[column]).sum::<usize>() as f64).collect();
    let n: f64 = rows.iter().sum();
    let freedom = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count() as f64 - 1.0;
    let (row_freedom, column_freedom) = (freedom(&rows), freedom(&columns));
    if row_freedom < 1.0 || column_freedom < 1.0 {
        return None;
    }
    let mut chi_squared = 0.0;
    for (row, row_sum) in counts.iter().zip(&rows) {
        for (&count, column_sum) in row.iter().zip(&columns) {
            let expected = row_sum * column_sum / n;
            if expected > 0.0 {
                chi_squared += (count as f64 - expected).powi(2) / expected;
            }
        }
    }
    let phi_squared = (chi_squared / n - row_freedom * column_freedom / (n - 1.0)).max(0.0);
    let most = [row_freedom, column_freedom].map(|freedom| freedom - freedom * freedom / (n - 1.0));
    let most = most[0].min(most[1]);
    (most > 0.0).then(|| (phi_squared / most).sqrt().min(1.0))
}

/// Numbers that are divided into groups.
#[derive(Debug)]
pub(crate) struct GroupedNumbers {
    pub(crate) mean: f64,
    /// The mean of each group; none for a group without numbers.
    pub(crate) means: Vec<Option<f64>>,
    /// How many numbers each group has.
    counts: Vec<usize>,
    /// How many numbers there are.
    n: usize,
    /// The sum of the squared deviations from the mean.
    squares: f64,
}

impl GroupedNumbers {
    /// Numbers with the group of each, below `groups`.
    pub(crate) fn of(numbers: &[f64], group_of_each: &[usize], groups: usize) -> Self {
        let n = numbers.len();
        let mean = numbers.iter().sum::<f64>() / n.max(1) as f64;
        let (mut sums, mut counts) = (vec![0.0; groups], vec![0_usize; groups]);
        for (&group, number) in group_of_each.iter().zip(numbers) {
            if let (Some(sum), Some(count)) = (sums.get_mut(group), counts.get_mut(group)) {
                *sum += number;
                *count += 1;
            }
        }
        let means =
            sums.iter().zip(&counts).map(|(sum, &count)| (count > 0).then(|| sum / count as f64)).collect();
        // The mean of equal numbers may differ from them by its rounding.
        let differ = numbers.iter().any(|number| *number != numbers[0]);
        let squares = if differ { numbers.iter().map(|number| (number - mean).powi(2)).sum() } else { 0.0 };
        Self { mean, means, counts, n, squares }
    }

    /// The standard deviation of all numbers, with n.
    pub(crate) fn deviation(&self) -> f64 {
        (self.squares / self.n.max(1) as f64).sqrt()
    }

    /// The correlation ratio with the correction of its bias; none if all numbers are equal or of one group, or if each has a group of its
    /// own. Without the correction it is far from 0 where few pictures of many groups have independent numbers.
    ///
    /// Kelley, "An unbiased correlation ratio measure", PNAS 21 (1935): `sqrt(max(0, 1 − (1 − η²)(n − 1)/(n − k)))`, where `η²` is the
    /// share of the variance of the `n` numbers that lies between the `k` groups.
    pub(crate) fn correlation_ratio(&self) -> Option<f64> {
        let (n, k) = (self.n, self.counts.iter().filter(|&&count| count > 0).count());
        let of_group = |(mean, &count): (&Option<f64>, &usize)| {
            mean.map_or(0.0, |mean| count as f64 * (mean - self.mean).powi(2))
        };
        let between: f64 = self.means.iter().zip(&self.counts).map(of_group).sum();
        let ratio = || {
            let within = (1.0 - between / self.squares) * (n - 1) as f64 / (n - k) as f64;
            (1.0 - within).clamp(0.0, 1.0).sqrt()
        };
        (self.squares > 0.0 && k >= 2 && n > k).then(ratio)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cramers_v_is_0_of_independent_and_1_of_equal_variables() {
        assert_eq!(cramers_v(&[vec![10, 20], vec![30, 60]]), Some(0.0));
        let near = |counts: &[Vec<usize>], expected: f64| {
            let statistic = cramers_v(counts);
            assert!(statistic.is_some_and(|statistic| (statistic - expected).abs() < 1e-12), "{statistic:?}");
        };
        near(&[vec![10, 0], vec![0, 60]], 1.0);
        assert_eq!(cramers_v(&[vec![10, 5]]), None);
        // χ² is 4 · 5² / 15 = 60 / 9, and φ² is 1 / 9.
        near(&[vec![20, 10], vec![10, 20]], ((1.0 / 9.0 - 1.0 / 59.0) / (1.0 - 1.0 / 59.0_f64)).sqrt());
        assert_eq!(cramers_v(&[vec![1, 0], vec![0, 1]]), None);
    }

    #[test]
    fn numbers_are_tied_by_the_share_of_their_variance_between_groups() {
        let numbers = [1.0, 3.0, 5.0, 7.0];
        let two = GroupedNumbers::of(&numbers, &[0, 0, 1, 1], 2);
        assert_eq!((two.mean, two.means.as_slice()), (4.0, [Some(2.0), Some(6.0)].as_slice()));
        // 16 of 20 lie between the groups, and 1 − 0.2 · 3 / 2 is 0.7.
        let ratio = two.correlation_ratio();
        assert!(ratio.is_some_and(|ratio| (ratio - 0.7_f64.sqrt()).abs() < 1e-12), "{ratio:?}");
        let none = |numbers: &[f64], groups: &[usize]| {
            assert_eq!(
                GroupedNumbers::of(numbers, groups, 4).correlation_ratio(),
                None,
                "{numbers:?} {groups:?}"
            );
        };
        none(&numbers, &[0, 1, 2, 3]);
        none(&numbers, &[1, 1, 1, 1]);
        // The sum of ten times 0.1 is not 1.
        none(&[0.1; 10], &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        none(&[], &[]);
    }

    #[test]
    fn independent_numbers_are_not_tied_to_groups_however_many_there_are() {
        // 60 numbers in 12 groups, by a generator of 32 bits; uncorrected, the ratio is about 0.43.
        let mut state = 1_u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 16)
        };
        let groups: Vec<usize> = (0..60).map(|at| at % 12).collect();
        let ratio = |numbers: &[f64]| GroupedNumbers::of(numbers, &groups, 12).correlation_ratio();
        let mut mean = 0.0_f64;
        for _ in 0..20 {
            let numbers: Vec<f64> = (0..60).map(|_| draw()).collect();
            mean += ratio(&numbers).unwrap() / 20.0;
        }
        assert!(mean < 0.2, "{mean}");
        let tied: Vec<f64> = (0..60).map(|at| f64::from(at % 12) + draw() / 1e6).collect();
        assert!(ratio(&tied).is_some_and(|ratio| ratio > 0.99));
    }
}
