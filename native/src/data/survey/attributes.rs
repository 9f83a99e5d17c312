//! An attribute of a data set: its type, its values, and how closely it is tied to the class.

use std::fmt;

use serde::Serialize;
use simile_core::data::Condition;
use simile_core::numeric::matrix::Matrix;

use crate::extremes::extremes;
use crate::metrics::association::{GroupedNumbers, cramers_v};
use crate::units::NOTHING;

/// Most values of a category that are listed in text, and that have a column in a table.
const MOST_VALUES: usize = 12;
/// A tie of at least this strength is explained to the user.
const CLOSE: f64 = 0.3;

/// An attribute of a data set.
#[derive(Debug, Serialize)]
pub(super) struct Attribute {
    name: String,
    #[serde(flatten)]
    kind: AttributeKind,
    /// Rows of the table without a value.
    missing: usize,
    /// Near 0 if it is independent of the class, near 1 if one follows from the other: Cramér's V of a category, the correlation
    /// ratio of numbers, both corrected for their bias.
    tie_to_class: Option<f64>,
}

/// The type of an attribute.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum AttributeKind {
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

/// How closely an attribute is tied to the class, from 0 to 1; none where that is not defined, as for several numbers for a picture.
pub(crate) fn tie_to_class(condition: &Condition, classes: Classes<'_>) -> Option<f64> {
    match condition {
        Condition::Categorical { values, names } => cramers_v(&crossed(classes, values, names.len())),
        Condition::Numeric(matrix) if matrix.columns() == 1 => {
            GroupedNumbers::of(matrix.data(), classes.labels, classes.count).correlation_ratio()
        }
        Condition::Numeric(_) => None,
    }
}

impl Attribute {
    /// An attribute beside the classes of the same pictures.
    pub(super) fn of(name: &str, condition: &Condition, classes: Classes<'_>, missing: usize) -> Self {
        let kind = match condition {
            Condition::Categorical { values, names } => {
                let by_class = crossed(classes, values, names.len());
                let pictures = |value: usize| by_class.iter().map(|row| row[value]).sum();
                let value_at =
                    |(at, name): (usize, &String)| Value { value: name.clone(), pictures: pictures(at) };
                AttributeKind::Category { values: names.iter().enumerate().map(value_at).collect(), by_class }
            }
            Condition::Numeric(matrix) => describe_numbers(matrix, classes),
        };
        Self { name: name.into(), kind, missing, tie_to_class: tie_to_class(condition, classes) }
    }

    /// Its title and the rows of a table of class × value, or of the means of the classes.
    pub(super) fn table(&self, classes: &[String]) -> Option<(String, Vec<Vec<String>>)> {
        let row = |class: &String, cells: Vec<String>| std::iter::once(class.clone()).chain(cells).collect();
        match &self.kind {
            AttributeKind::Category { values, by_class } if values.len() <= MOST_VALUES => {
                let header = std::iter::once(String::new()).chain(values.iter().map(|one| one.value.clone()));
                let rows = classes.iter().zip(by_class);
                let rows =
                    rows.map(|(class, counts)| row(class, counts.iter().map(usize::to_string).collect()));
                Some((self.name.clone(), std::iter::once(header.collect()).chain(rows).collect()))
            }
            AttributeKind::Number { by_class, digits, .. } => {
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

fn describe_numbers(matrix: &Matrix, classes: Classes<'_>) -> AttributeKind {
    let (low, high) = extremes(matrix.data().iter().copied());
    if matrix.columns() != 1 {
        return AttributeKind::Numbers { columns: matrix.columns(), low, high };
    }
    let numbers = GroupedNumbers::of(matrix.data(), classes.labels, classes.count);
    let (mean, deviation) = (numbers.mean, numbers.deviation());
    let digits = digits_of(if deviation > 0.0 { deviation } else { mean.abs() });
    AttributeKind::Number { low, high, mean, deviation, digits, by_class: numbers.means }
}

/// Digits after the point that show four significant ones of a number; from four to twenty.
fn digits_of(number: f64) -> usize {
    if number > 0.0 { (3.0 - number.log10().floor()).clamp(4.0, 20.0) as usize } else { 4 }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, missing, tie_to_class } = self;
        write!(f, "{name}: ")?;
        let measure = match kind {
            AttributeKind::Category { values, .. } => {
                let shown =
                    values.iter().take(MOST_VALUES).map(|one| format!("{} {}", one.value, one.pictures));
                let more = values.len().saturating_sub(MOST_VALUES);
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                let shown = shown.collect::<Vec<_>>().join(", ");
                write!(f, "category of {} values ({shown}{more})", values.len())?;
                "Cramér's V"
            }
            AttributeKind::Number { low, high, mean, deviation, digits, .. } => {
                let digits = *digits;
                write!(f, "number from {low} to {high}, mean {mean:.digits$}, ")?;
                write!(f, "standard deviation {deviation:.digits$}")?;
                "correlation ratio"
            }
            AttributeKind::Numbers { columns, low, high } => {
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
mod tests {
    use super::*;

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
        let attribute = Attribute::of("photographer", &condition, Classes { labels: &labels, count: 2 }, 0);
        assert!(attribute.tie_to_class.is_some_and(|tie| tie < 0.25), "{attribute}");
        assert!(!attribute.to_string().contains("predicts the class"), "{attribute}");
        // Where the value decides the class, it is still said.
        let values = labels.iter().enumerate().map(|(at, label)| 2 * (at % 12) + label).collect();
        let names = (0..24).map(|at| format!("photographer {at}")).collect();
        let condition = Condition::Categorical { values, names };
        let attribute = Attribute::of("photographer", &condition, Classes { labels: &labels, count: 2 }, 0);
        assert!(attribute.to_string().contains("predicts the class"), "{attribute}");
    }

    #[test]
    fn small_numbers_are_shown_with_digits_that_tell_them_apart() {
        let of = |scale: f64| {
            let matrix = Matrix::from_fn(4, 1, |at, _| [1.0, 3.0, 5.0, 7.0][at] * scale);
            let dose = Condition::Numeric(matrix.into());
            Attribute::of("dose", &dose, Classes { labels: &[0, 0, 1, 1], count: 2 }, 0)
        };
        let small = of(1e-6);
        assert!(small.to_string().contains("mean 0.000004000, standard deviation 0.000002236"), "{small}");
        let classes = ["a".to_owned(), "b".to_owned()];
        let rows = small.table(&classes).map(|(_, rows)| rows).unwrap_or_default();
        assert_eq!(rows.last().map(|row| row[1].as_str()), Some("0.000006000"));
        assert!(of(1.0).to_string().contains("number from 1 to 7, mean 4.0000, standard deviation 2.2361"));
        assert_eq!((digits_of(0.0), digits_of(1e-300), digits_of(1e300)), (4, 20, 4));
    }
}
