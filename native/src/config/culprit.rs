//! The key that an error of a recipe is about, where the reader of recipes says only the section: each key is taken out in turn, and
//! the error that goes or changes with it is its own.

use std::cmp::Reverse;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::Recipe;
use super::explain::line;

/// A step into a document.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Into a key of a table.
    Key(String),
    /// Into an element of a list.
    At(usize),
}

/// A key of a document, or an element of a list, with its line.
struct Place {
    path: Vec<Step>,
    line: usize,
}

/// The line of the key that the error of a recipe is about, in or below the section on a line of `source`. It is that line if no key
/// of the section is the reason, as when one is missing.
pub(super) fn line_of_culprit(source: &str, section: usize) -> usize {
    inside(source, section).unwrap_or(section)
}

fn inside(source: &str, section: usize) -> Option<usize> {
    let whole: Table = toml::from_str(source).ok()?;
    let reason = fault(whole.clone()).filter(|reason| !reason.starts_with("missing key"))?;
    let document = DeTable::parse(source).ok()?;
    let mut places = Vec::new();
    for (key, value) in document.get_ref() {
        let step = (Step::Key(key.get_ref().to_string()), key.span().start);
        collect(source, step, value.get_ref(), &[], &mut places);
    }
    let weight = |at: usize| {
        let path = &places[at].path;
        let without = |other: Option<Value>| {
            let mut rest = Value::Table(whole.clone());
            replace(&mut rest, path, other)?;
            rest.as_table().map(|rest| fault(rest.clone()))
        };
        let now = without(None)?;
        // A name that has to be there.
        let is_gone = now.is_none() || without(Some("x".into())) == Some(None);
        // One that the message names counts most, then one without which nothing is wrong: without others, something else may be.
        let weight = (is_named(&reason, path), is_gone, path.len(), Reverse(at));
        (now.as_ref() != Some(&reason)).then_some(weight)
    };
    let mut found = None;
    let mut within = places.iter().position(|place| place.line == section)?;
    // The section of the key, then the key.
    loop {
        let outer = &places[within].path;
        let below = |at: &usize| places[*at].path.len() > outer.len() && places[*at].path.starts_with(outer);
        let culprits = (0..places.len()).filter(below).filter_map(|at| Some((weight(at)?, at)));
        let Some((_, at)) = culprits.max_by_key(|(weight, _)| *weight) else { break };
        (found, within) = (Some(places[at].line), at);
    }
    found
}

/// The error of a recipe, if it has any.
fn fault(table: Table) -> Option<String> {
    match Recipe::from_table(table) {
        Err(reason) => Some(reason),
        Ok(mut recipe) => {
            if recipe.name.is_empty() {
                "unnamed".clone_into(&mut recipe.name);
            }
            recipe.check_given().err().map(|fault| fault.reason)
        }
    }
}

/// The place of a value and those in it.
fn collect(
    source: &str,
    (step, start): (Step, usize),
    value: &DeValue<'_>,
    before: &[Step],
    places: &mut Vec<Place>,
) {
    let path = [before, &[step]].concat();
    places.push(Place { path: path.clone(), line: line(source, start) });
    match value {
        DeValue::Table(table) => {
            for (key, value) in table {
                let step = (Step::Key(key.get_ref().to_string()), key.span().start);
                collect(source, step, value.get_ref(), &path, places);
            }
        }
        DeValue::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                collect(source, (Step::At(at), value.span().start), value.get_ref(), &path, places);
            }
        }
        _ => {}
    }
}

/// Puts a value in the place of a text, or takes a key or an element out; `None` if it is not there.
fn replace(value: &mut Value, path: &[Step], other: Option<Value>) -> Option<()> {
    match (path, value) {
        ([], value) => {
            *value = other.filter(|_| value.is_str())?;
            Some(())
        }
        ([Step::Key(key)], Value::Table(table)) if other.is_none() => table.remove(key).map(drop),
        ([Step::At(at)], Value::Array(values)) if other.is_none() && *at < values.len() => {
            values.remove(*at);
            Some(())
        }
        ([Step::Key(key), rest @ ..], Value::Table(table)) => replace(table.get_mut(key)?, rest, other),
        ([Step::At(at), rest @ ..], Value::Array(values)) => replace(values.get_mut(*at)?, rest, other),
        _ => None,
    }
}

/// True if a message names the key, alone or after its section.
fn is_named(reason: &str, path: &[Step]) -> bool {
    let mut keys = path.iter().rev().map_while(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::At(_) => None,
    });
    let Some(key) = keys.next() else { return false };
    let in_section = keys.next().map(|section| format!("{section}.{key}"));
    reason.contains(&format!("`{key}`"))
        || reason.contains(&format!(".{key}`"))
        || in_section.is_some_and(|named| reason.contains(&named))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECIPE: &str = "[data]\ndataset = \"digits\"\ntrain = 64\ntest = 16\n\n[augment]\nflip = 0.5\n\
        crop = { scale = [0.3, 1.0],\n  ratio = [0.5, 2.0] }\n\n[optimizer]\nlearning_rate = 1e-3\nname = \"adam\"\n\n\
        [train]\nbatch = 8\niterations = 1\n\n[[variant]]\nname = \"a\"\nobjective = { name = \"nt-xent\" }\n\n\
        [[variant]]\nname = \"b\"\n[variant.objective]\nname = \"fair-cclk\"\ncondition = \"colour\"\ntemperature = 0.5\n\
        [variant.objective.kernel]\nname = \"rbf\"\nsigma = 5\n";

    /// The line on which `after` is put in the place of `before`, which is there once, and the line that is found from that of the
    /// section.
    fn found(before: &str, after: &str) -> (usize, usize) {
        let (start, _) = RECIPE.split_once(before).unwrap_or_default();
        let section = start.rfind("\n[").map_or(0, |at| at + 1);
        let section = line(RECIPE, section);
        (line(RECIPE, start.len()), line_of_culprit(&RECIPE.replacen(before, after, 1), section))
    }

    #[test]
    fn a_wrong_value_is_found_in_every_section() {
        assert_eq!(line_of_culprit(RECIPE, 6), 6, "there is no error");
        for (before, after) in [
            ("flip = 0.5", "flip = \"often\""),
            ("flip = 0.5", "flip = 2"),
            ("scale = [0.3", "scale = [\"a\""),
            ("ratio = [0.5, 2.0]", "ratio = 7"),
            ("ratio = [0.5, 2.0]", "ratoi = [0.5, 2.0]"),
            ("learning_rate = 1e-3", "learning_rate = true"),
            ("learning_rate = 1e-3", "learning_rate = -1"),
            ("learning_rate = 1e-3", "beta1 = 2"),
            ("name = \"adam\"", "name = \"adamm\""),
            ("iterations = 1", "iterations = 1.5"),
            ("objective = { name = \"nt-xent\"", "objective = { name = \"nt-xant\""),
            ("condition = \"colour\"", "variant = \"printed\""),
            ("temperature = 0.5", "temperature = 0"),
            ("temperature = 0.5", "temperatur = 0.5"),
            ("sigma = 5", "sigma = -5"),
            ("sigma = 5", "sigma = []"),
            ("name = \"rbf\"", "name = \"rbff\""),
            ("name = \"b\"", "name = \"a/b\""),
        ] {
            let (expected, line) = found(before, after);
            assert_eq!(line, expected, "{after}");
        }
        let missing = RECIPE.replacen("batch = 8\n", "", 1);
        assert_eq!(line_of_culprit(&missing, 15), 15, "that of the section without a key");
    }
}
