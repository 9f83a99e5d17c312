//! Whether the leak of an attribute can be measured: probes are fitted, and warnings written, by the same answer.

use std::collections::BTreeSet;

use simile_core::data::{Condition, Dataset};

/// The reason why the leak of an attribute cannot be measured: no probe can be told from a constant guess.
#[derive(Debug)]
pub(crate) enum Obstacle<'a> {
    /// All training rows have this value, so that a probe learns nothing else.
    OneTrainingValue(String),
    /// No training row has the value of any evaluated row, such as this one, so that no guess can be right.
    Unseen(&'a str),
    /// All evaluated rows have this value, so that a constant guess may be right in all of them.
    OneEvaluatedValue(String),
}

/// The obstacle to measuring the leak of an attribute; none if it can be measured. One that a split lacks is an error elsewhere.
pub(crate) fn obstacle<'a>(name: &str, train: &Dataset, test: &'a Dataset) -> Option<Obstacle<'a>> {
    let single = |rows: &Dataset| rows.conditions.get(name).and_then(one_value);
    single(train)
        .map(Obstacle::OneTrainingValue)
        .or_else(|| all_unseen(&unseen_values(name, train, test), test.len()).map(Obstacle::Unseen))
        .or_else(|| single(test).map(Obstacle::OneEvaluatedValue))
}

/// The value of an attribute that has a single one, in words.
pub(crate) fn one_value(attribute: &Condition) -> Option<String> {
    match attribute {
        Condition::Categorical { values, names } => {
            let first = values.first()?;
            let name = || names.get(*first).cloned().unwrap_or_default();
            values.iter().all(|value| value == first).then(name)
        }
        Condition::Numeric(values) => {
            let first = values.iter_rows().next()?;
            let written = || first.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
            values.iter_rows().all(|row| row == first).then(written)
        }
    }
}

/// The values of a category that no training row has, one for each evaluated row with such a value; empty for numbers.
pub(crate) fn unseen_values<'a>(name: &str, train: &Dataset, test: &'a Dataset) -> Vec<&'a str> {
    match (train.conditions.get(name), test.conditions.get(name)) {
        (
            Some(Condition::Categorical { values: known, names: known_names }),
            Some(Condition::Categorical { values, names }),
        ) => unseen((known, known_names), (values, names)),
        _ => Vec::new(),
    }
}

/// The names of values that no known row has, one for each other row with such a value. Values are indices into their names.
pub(crate) fn unseen<'a>(
    (known, known_names): (&[usize], &[String]),
    (values, names): (&[usize], &'a [String]),
) -> Vec<&'a str> {
    let known: BTreeSet<&String> = known.iter().filter_map(|value| known_names.get(*value)).collect();
    let names = values.iter().filter_map(|value| names.get(*value));
    names.filter(|name| !known.contains(name)).map(String::as_str).collect()
}

/// An unseen value, if all of so many rows have one.
pub(crate) fn all_unseen<'a>(unseen: &[&'a str], rows: usize) -> Option<&'a str> {
    unseen.first().copied().filter(|_| unseen.len() == rows)
}
