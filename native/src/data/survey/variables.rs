//! A variable of a data set: its type, its values, and how closely it is tied to the class.

use std::fmt;

use serde::Serialize;
use simile_core::data::Condition;
use simile_core::numeric::matrix::Matrix;

use crate::extremes::extremes;
use crate::units::NOTHING;

/// Most values of a category that are listed in text, and that have a column in a table.
const MOST_VALUES: usize = 12;
/// A tie of at least this strength is explained to the user.
const CLOSE: f64 = 0.3;

/// A variable of a data set.
#[derive(Debug, Serialize)]
pub(super) struct Variable {
    name: String,
    #[serde(flatten)]
    kind: VariableKind,
    /// Rows of the table without a value.
    missing: usize,
    /// Near 0 if it is independent of the class, near 1 if one follows from the other: Cramér's V of a category, the correlation
    /// ratio of numbers, both corrected for their bias.
    tie_to_class: Option<f64>,
}

/// The type of a variable.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum VariableKind {
    Category {
        values: Vec<Value>,
        /// The number of pictures of each class and value.
        by_class: Vec<Vec<usize>>,
    },
    Number {
        low: f64,
        high: f64,
        mean: f64,
        deviation: f64,
        /// Digits after the point with which means and deviation are shown.
        #[serde(skip)]
        digits: usize,
        /// The mean of each class.
        by_class: Vec<Option<f64>>,
    },
    /// Several numbers for a picture.
    Numbers { columns: usize, low: f64, high: f64 },
}

/// A value of a category with the number of its pictures.
#[derive(Debug, Serialize)]
struct Value {
    value: String,
    pictures: usize,
}

/// The class of each picture, as a number, and the number of classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classes<'a> {
    pub(crate) labels: &'a [usize],
    pub(crate) count: usize,
}

/// How closely an attribute is tied to the class, from 0 to 1; none where that is not defined.
pub(crate) fn tie_to_class(condition: &Condition, classes: Classes<'_>) -> Option<f64> {
    Variable::of("", condition, classes, 0).tie_to_class
}

impl Variable {
    /// A variable beside the classes of the same pictures.
    pub(super) fn of(name: &str, condition: &Condition, classes: Classes<'_>, missing: usize) -> Self {
        let (kind, tie_to_class) = match condition {
            Condition::Categorical { values, names } => {
                let by_class = crossed(classes, values, names.len());
                let pictures = |value: usize| by_class.iter().map(|row| row[value]).sum();
                let value_at =
                    |(at, name): (usize, &String)| Value { value: name.clone(), pictures: pictures(at) };
                let tie = cramers_v(&by_class);
                (
                    VariableKind::Category {
                        values: names.iter().enumerate().map(value_at).collect(),
                        by_class,
                    },
                    tie,
                )
            }
            Condition::Numeric(matrix) => describe_numbers(matrix, classes),
        };
        Self { name: name.into(), kind, missing, tie_to_class }
    }

    /// Its title and the rows of a table of class × value, or of the means of the classes.
    pub(super) fn table(&self, classes: &[String]) -> Option<(String, Vec<Vec<String>>)> {
        let row = |class: &String, cells: Vec<String>| std::iter::once(class.clone()).chain(cells).collect();
        match &self.kind {
            VariableKind::Category { values, by_class } if values.len() <= MOST_VALUES => {
                let header = std::iter::once(String::new()).chain(values.iter().map(|one| one.value.clone()));
                let rows = classes.iter().zip(by_class);
                let rows =
                    rows.map(|(class, counts)| row(class, counts.iter().map(usize::to_string).collect()));
                Some((self.name.clone(), std::iter::once(header.collect()).chain(rows).collect()))
            }
            VariableKind::Number { by_class, digits, .. } => {
                let digits = *digits;
                let header = vec![String::new(), "mean".into()];
                let mean = |mean: &Option<f64>| {
                    mean.map_or_else(|| NOTHING.into(), |mean| format!("{mean:.digits$}"))
                };
                let rows = classes
                    .iter()
                    .zip(by_class)
                    .map(|(class, class_mean)| row(class, vec![mean(class_mean)]));
                Some((self.name.clone(), std::iter::once(header).chain(rows).collect()))
            }
            _ => None,
        }
    }
}

/// Numbers of pictures by class and value.
fn crossed(classes: Classes<'_>, values: &[usize], names: usize) -> Vec<Vec<usize>> {
    let mut counts = vec![vec![0; names]; classes.count];
    for (&label, &value) in classes.labels.iter().zip(values) {
        if let Some(count) = counts.get_mut(label).and_then(|row| row.get_mut(value)) {
            *count += 1;
        }
    }
    counts
}

/// Cramér's V with the correction of its bias, over the `k` rows and `r` columns that occur; none if there is one of either, or if
/// every picture has a value of its own. Without the correction it is far from 0 where few pictures have independent variables of many
/// values.
///
/// Bergsma, "A bias-correction for Cramér's V and Tschuprow's T", Journal of the Korean Statistical Society 42 (2013):
/// `V = sqrt(φ̃² / min(k̃ − 1, r̃ − 1))`, where `φ̃² = max(0, χ²/n − (k − 1)(r − 1)/(n − 1))` and
/// `k̃ = k − (k − 1)²/(n − 1)`, `r̃` likewise.
fn cramers_v(counts: &[Vec<usize>]) -> Option<f64> {
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

fn describe_numbers(matrix: &Matrix, classes: Classes<'_>) -> (VariableKind, Option<f64>) {
    let all = matrix.data();
    let (low, high) = extremes(all.iter().copied());
    if matrix.columns() != 1 {
        return (VariableKind::Numbers { columns: matrix.columns(), low, high }, None);
    }
    let n = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / n;
    let total: f64 = all.iter().map(|value| (value - mean).powi(2)).sum();
    let (mut sums, mut counts) = (vec![0.0; classes.count], vec![0_usize; classes.count]);
    for (&label, value) in classes.labels.iter().zip(all) {
        if let (Some(sum), Some(count)) = (sums.get_mut(label), counts.get_mut(label)) {
            *sum += value;
            *count += 1;
        }
    }
    let by_class: Vec<Option<f64>> =
        sums.iter().zip(&counts).map(|(sum, &count)| (count > 0).then(|| sum / count as f64)).collect();
    let between: f64 = by_class
        .iter()
        .zip(&counts)
        .map(|(class_mean, &count)| {
            class_mean.map_or(0.0, |class_mean| count as f64 * (class_mean - mean).powi(2))
        })
        .sum();
    let occurring = counts.iter().filter(|&&count| count > 0).count();
    // The mean of equal numbers may differ from them by its rounding.
    let total = if low < high { total } else { 0.0 };
    let tie = (total > 0.0).then(|| correlation_ratio(between / total, all.len(), occurring)).flatten();
    let deviation = (total / n).sqrt();
    let digits = digits_of(if deviation > 0.0 { deviation } else { mean.abs() });
    (VariableKind::Number { low, high, mean, deviation, digits, by_class }, tie)
}

/// The correlation ratio with the correction of its bias, of the share `η²` of the variance of `n` numbers that lies between `k` classes;
/// none if there is one class, or a class for each number. Without the correction it is far from 0 where few pictures of many classes have
/// independent numbers.
///
/// Kelley, "An unbiased correlation ratio measure", PNAS 21 (1935): `sqrt(max(0, 1 − (1 − η²)(n − 1)/(n − k)))`.
fn correlation_ratio(eta_squared: f64, n: usize, k: usize) -> Option<f64> {
    if k < 2 || n <= k {
        return None;
    }
    let within = (1.0 - eta_squared) * (n - 1) as f64 / (n - k) as f64;
    Some((1.0 - within).clamp(0.0, 1.0).sqrt())
}

/// Digits after the point that show four significant ones of a number; from four to twenty.
fn digits_of(number: f64) -> usize {
    if number > 0.0 { (3.0 - number.log10().floor()).clamp(4.0, 20.0) as usize } else { 4 }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, missing, tie_to_class } = self;
        write!(f, "{name}: ")?;
        let measure = match kind {
            VariableKind::Category { values, .. } => {
                let shown =
                    values.iter().take(MOST_VALUES).map(|one| format!("{} {}", one.value, one.pictures));
                let more = values.len().saturating_sub(MOST_VALUES);
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                let shown = shown.collect::<Vec<_>>().join(", ");
                write!(f, "category of {} values ({shown}{more})", values.len())?;
                "Cramér's V"
            }
            VariableKind::Number { low, high, mean, deviation, digits, .. } => {
                let digits = *digits;
                write!(f, "number from {low} to {high}, mean {mean:.digits$}, ")?;
                write!(f, "standard deviation {deviation:.digits$}")?;
                "correlation ratio"
            }
            VariableKind::Numbers { columns, low, high } => {
                write!(f, "{columns} numbers from {low} to {high}")?;
                ""
            }
        };
        write!(f, "; missing: {missing}")?;
        match tie_to_class {
            Some(tie) if *tie >= CLOSE => write!(
                f,
                "; {measure} with the class {tie:.2}: hiding it will cost accuracy, because it predicts the class"
            ),
            Some(tie) => write!(f, "; {measure} with the class {tie:.2}"),
            None => Ok(()),
        }
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
    fn independent_values_do_not_predict_the_class_however_many_they_are() {
        // 200 pictures in two classes and 25 photographers, by a generator of 32 bits.
        let mut state = 1_u32;
        let mut draw = |most: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % most as usize
        };
        let (labels, values): (Vec<usize>, Vec<usize>) = (0..200).map(|_| (draw(2), draw(25))).unzip();
        let names = (0..25).map(|at| format!("photographer {at}")).collect();
        let condition = Condition::Categorical { values, names };
        let variable = Variable::of("photographer", &condition, Classes { labels: &labels, count: 2 }, 0);
        assert!(variable.tie_to_class.is_some_and(|tie| tie < 0.25), "{variable}");
        assert!(!variable.to_string().contains("predicts the class"), "{variable}");
        // Where the value decides the class, it is still said.
        let values = labels.iter().enumerate().map(|(at, label)| 2 * (at % 12) + label).collect();
        let names = (0..24).map(|at| format!("photographer {at}")).collect();
        let condition = Condition::Categorical { values, names };
        let variable = Variable::of("photographer", &condition, Classes { labels: &labels, count: 2 }, 0);
        assert!(variable.to_string().contains("predicts the class"), "{variable}");
    }

    #[test]
    fn small_numbers_are_shown_with_digits_that_tell_them_apart() {
        let of = |scale: f64| {
            let matrix = Matrix::from_fn(4, 1, |at, _| [1.0, 3.0, 5.0, 7.0][at] * scale);
            let dose = Condition::Numeric(matrix.into());
            Variable::of("dose", &dose, Classes { labels: &[0, 0, 1, 1], count: 2 }, 0)
        };
        let small = of(1e-6);
        assert!(small.to_string().contains("mean 0.000004000, standard deviation 0.000002236"), "{small}");
        let classes = ["a".to_owned(), "b".to_owned()];
        let rows = small.table(&classes).map(|(_, rows)| rows).unwrap_or_default();
        assert_eq!(rows.last().map(|row| row[1].as_str()), Some("0.000006000"));
        assert!(of(1.0).to_string().contains("mean 4.0000, standard deviation 2.2361"));
        assert_eq!((digits_of(0.0), digits_of(1e-300), digits_of(1e300)), (4, 20, 4));
    }

    #[test]
    fn numbers_are_tied_by_the_share_of_their_variance_between_classes() {
        let matrix = Matrix::from_fn(4, 1, |at, _| [1.0, 3.0, 5.0, 7.0][at]);
        let (kind, tie) = describe_numbers(&matrix, Classes { labels: &[0, 0, 1, 1], count: 2 });
        assert!(matches!(kind, VariableKind::Number { low: 1.0, high: 7.0, mean: 4.0, .. }));
        // 16 of 20 lie between the classes, and 1 − 0.2 · 3 / 2 is 0.7.
        assert!(tie.is_some_and(|tie| (tie - 0.7_f64.sqrt()).abs() < 1e-12), "{tie:?}");
        assert_eq!(
            describe_numbers(&matrix, Classes { labels: &[0, 1, 2, 3], count: 4 }).1,
            None,
            "a class for each number"
        );
    }

    #[test]
    fn independent_numbers_do_not_predict_the_class_however_many_classes_there_are() {
        // 60 pictures in 12 classes, by a generator of 32 bits; uncorrected, the ratio is about 0.43.
        let mut state = 1_u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 16)
        };
        let labels: Vec<usize> = (0..60).map(|at| at % 12).collect();
        let classes = Classes { labels: &labels, count: 12 };
        let mut mean = 0.0_f64;
        for _ in 0..20 {
            let ages = Matrix::from_fn(60, 1, |_, _| draw());
            let (_, tie) = describe_numbers(&ages, classes);
            mean += tie.unwrap() / 20.0;
        }
        assert!(mean < 0.2, "{mean}");
        let (_, tie) =
            describe_numbers(&Matrix::from_fn(60, 1, |at, _| (at % 12) as f64 + draw() / 1e6), classes);
        assert!(tie.is_some_and(|tie| tie > 0.99), "{tie:?}");
    }
}
