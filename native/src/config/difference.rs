//! The differences of two recipes, key by key.

use anyhow::Result;
use toml::{Table, Value};

use super::key_path::join;
use super::recipe::Recipe;

/// A key whose values differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// The dotted key, as in `--set`.
    pub(crate) key: String,
    /// The value in the first recipe, if it has one.
    one: Option<Value>,
    /// The value in the second recipe.
    other: Option<Value>,
}

impl Difference {
    /// The value in the first recipe, in words.
    pub(crate) fn one(&self) -> String {
        in_words(self.one.as_ref())
    }

    /// The value in the second recipe.
    pub(crate) fn other(&self) -> String {
        in_words(self.other.as_ref())
    }
}

fn in_words(value: Option<&Value>) -> String {
    value.map_or_else(|| "not set".into(), ToString::to_string)
}

/// Every key in which two recipes differ, defaults included.
///
/// # Errors
/// If one of them cannot be written.
pub(crate) fn differences(one: &Recipe, other: &Recipe) -> Result<Vec<Difference>> {
    let mut differing = Vec::new();
    compare_tables("", &Table::try_from(one)?, &Table::try_from(other)?, &mut differing);
    Ok(differing)
}

fn compare_tables(path: &str, one: &Table, other: &Table, differing: &mut Vec<Difference>) {
    let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
    for key in keys {
        compare_values(join(path, key), one.get(key), other.get(key), differing);
    }
}

fn compare_values(key: String, one: Option<&Value>, other: Option<&Value>, differing: &mut Vec<Difference>) {
    match (one, other) {
        (Some(Value::Table(one)), Some(Value::Table(other))) => compare_tables(&key, one, other, differing),
        (Some(Value::Array(ones)), Some(Value::Array(others))) if names(ones) == names(others) => {
            match names(ones) {
                Some(names) => {
                    for (at, name) in names.iter().enumerate() {
                        compare_values(join(&key, name), ones.get(at), others.get(at), differing);
                    }
                }
                None if ones == others => {}
                None => differing.push(Difference { key, one: one.cloned(), other: other.cloned() }),
            }
        }
        _ if one == other => {}
        _ => differing.push(Difference { key, one: one.cloned(), other: other.cloned() }),
    }
}

/// The names of variants.
fn names(values: &[Value]) -> Option<Vec<&str>> {
    values
        .iter()
        .map(|value| value.get("name")?.as_str())
        .collect::<Option<Vec<_>>>()
        .filter(|names| !names.is_empty())
}

/// The differences of two recipes that affect the results of a run.
///
/// # Errors
/// If one of them cannot be written.
pub(crate) fn decisive(one: &Recipe, other: &Recipe) -> Result<Vec<Difference>> {
    const ANYTIME: [&str; 2] = ["train.checkpoint_every", "train.checkpoint_minutes"];
    let mut differences = differences(one, other)?;
    differences.retain(|difference| !ANYTIME.contains(&difference.key.as_str()));
    Ok(differences)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Changes;

    #[test]
    fn keys_are_named_as_they_are_set() {
        let load = |set: &[&str]| {
            let set: Vec<String> = set.iter().map(|&setting| setting.to_owned()).collect();
            Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }).unwrap()
        };
        let recipe = load(&[]);
        assert_eq!(differences(&recipe, &load(&[])).unwrap(), []);
        let other = load(&["variant.Fair-CCLK.objective.lambda=0.5", "train.batch=17", "train.ema=0.5"]);
        let differing = differences(&recipe, &other).unwrap();
        let of = |key: &str| differing.iter().find(|difference| difference.key == key).unwrap();
        assert_eq!(differing.len(), 3, "{differing:?}");
        assert_eq!(of("train.batch").other(), "17");
        assert_eq!(of("train.ema").one(), "not set");
        assert_eq!(of("variant.Fair-CCLK.objective.lambda").other(), "0.5");
    }
}
