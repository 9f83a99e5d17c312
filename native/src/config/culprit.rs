//! Finds the line of the key that an error of a recipe is about. The reader of recipes says what is wrong, but often gives only the
//! line of the section.
//!
//! The search takes each key and each element below the section out of the recipe in turn and reads the rest again. If the error is
//! gone then, or is another one, the entry is suspected. The search goes on below the most suspected entry, until nothing below changes
//! the error.

use std::cmp::Reverse;

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::explain::line;
use super::reader_error::ReaderError;
use super::recipe::Recipe;

/// A step into a document.
#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Into a key of a table.
    Key(String),
    /// Into an element of a list.
    At(usize),
}

/// A key of a document, or an element of a list, with its line.
struct Entry {
    path: Vec<Step>,
    line: usize,
}

/// The reasons to suspect an entry of the error, the weightiest first: derived order compares the fields in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Suspicion {
    /// The message names the key.
    is_named: bool,
    /// The recipe has no error without the entry. Without other entries it may have another error.
    is_cure: bool,
    /// The number of steps to the entry: an inner one tells more than the table around it.
    depth: usize,
}

/// The line of the key that the error of a recipe is about, in or below the section on a line of `source`. It is that line if no key
/// of the section is the reason, as when one is missing.
pub(super) fn line_of_culprit(source: &str, section_line: usize) -> usize {
    CulpritSearch::new(source).and_then(|search| search.line_below(section_line)).unwrap_or(section_line)
}

/// A recipe with an error, and the entries that may be the reason.
struct CulpritSearch {
    recipe: Table,
    error: String,
    /// All entries of the recipe, each before those in it.
    entries: Vec<Entry>,
}

impl CulpritSearch {
    /// `None` if the recipe has no error, or lacks a key: then no key that is there is the reason.
    fn new(source: &str) -> Option<Self> {
        let recipe: Table = toml::from_str(source).ok()?;
        let read = Recipe::from_table(recipe.clone());
        if matches!(read, Err(ReaderError::MissingKey(_))) {
            return None;
        }
        let error = error_of(read)?;
        let document = DeTable::parse(source).ok()?;
        let mut entries = Vec::new();
        add_entries_of_table(source, document.get_ref(), &[], &mut entries);
        Some(Self { recipe, error, entries })
    }

    /// The line of the culprit below the section on a line; `None` if no entry below is suspected.
    fn line_below(&self, section_line: usize) -> Option<usize> {
        let mut outer = self.entries.iter().find(|entry| entry.line == section_line)?;
        let mut culprit_line = None;
        // The first culprit may be a table or a list, in which the next one is more exact.
        while let Some(culprit) = self.culprit_below(outer) {
            culprit_line = Some(culprit.line);
            outer = culprit;
        }
        culprit_line
    }

    /// The most suspected entry below another one; the first of equals.
    fn culprit_below(&self, outer: &Entry) -> Option<&Entry> {
        let is_below =
            |entry: &Entry| entry.path.len() > outer.path.len() && entry.path.starts_with(&outer.path);
        (self.entries.iter().enumerate())
            .filter(|(_, entry)| is_below(entry))
            .filter_map(|(at, entry)| Some(((self.suspicion(&entry.path)?, Reverse(at)), entry)))
            .max_by_key(|(rank, _)| *rank)
            .map(|(_, entry)| entry)
    }

    /// The suspicion against the entry at a path; `None` if the error is the same without it.
    fn suspicion(&self, path: &[Step]) -> Option<Suspicion> {
        let error_without = error_of(Recipe::from_table(self.changed(|recipe| remove(recipe, path))?));
        if error_without.as_ref() == Some(&self.error) {
            return None;
        }
        // A name that has to be there cannot be taken out without an error, so another text is tried in its place.
        let is_cured_by_other_text = || {
            let recipe = self.changed(|recipe| replace_text(recipe, path));
            recipe.is_some_and(|recipe| error_of(Recipe::from_table(recipe)).is_none())
        };
        Some(Suspicion {
            is_named: is_named(&self.error, path),
            is_cure: error_without.is_none() || is_cured_by_other_text(),
            depth: path.len(),
        })
    }

    /// The recipe after a change; `None` if the change cannot be made.
    fn changed(&self, change: impl FnOnce(&mut Value) -> Option<()>) -> Option<Table> {
        let mut recipe = Value::Table(self.recipe.clone());
        change(&mut recipe)?;
        recipe.as_table().cloned()
    }
}

/// The error of a recipe as it was read, or of its check, if it has any.
fn error_of(read: Result<Recipe, ReaderError>) -> Option<String> {
    match read {
        Err(error) => Some(error.to_string()),
        Ok(mut recipe) => {
            // A recipe without a name takes that of its file, which is not known here.
            if recipe.name.is_empty() {
                "unnamed".clone_into(&mut recipe.name);
            }
            recipe.check_given().err().map(|fault| fault.reason)
        }
    }
}

/// Adds the keys of the table at a path, each followed by the entries in it.
fn add_entries_of_table(source: &str, table: &DeTable<'_>, path: &[Step], entries: &mut Vec<Entry>) {
    for (key, value) in table {
        let step = (Step::Key(key.get_ref().to_string()), key.span().start);
        add_entry(source, step, value.get_ref(), path, entries);
    }
}

/// Adds the entry one step below a path, and the entries in its value. The step begins at the byte `start` of `source`.
fn add_entry(
    source: &str,
    (step, start): (Step, usize),
    value: &DeValue<'_>,
    outer: &[Step],
    entries: &mut Vec<Entry>,
) {
    let path = [outer, &[step]].concat();
    entries.push(Entry { path: path.clone(), line: line(source, start) });
    match value {
        DeValue::Table(table) => add_entries_of_table(source, table, &path, entries),
        DeValue::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                let step = (Step::At(at), value.span().start);
                add_entry(source, step, value.get_ref(), &path, entries);
            }
        }
        _ => {}
    }
}

/// The value at a path of a document, if it is there.
fn value_at<'v>(document: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(document, |value, step| match (step, value) {
        (Step::Key(key), Value::Table(table)) => table.get_mut(key),
        (Step::At(at), Value::Array(values)) => values.get_mut(*at),
        _ => None,
    })
}

/// Takes a key or an element out of a document; `None` if it is not there.
fn remove(document: &mut Value, path: &[Step]) -> Option<()> {
    let (last, outer) = path.split_last()?;
    match (last, value_at(document, outer)?) {
        (Step::Key(key), Value::Table(table)) => table.remove(key).map(drop),
        (Step::At(at), Value::Array(values)) if *at < values.len() => {
            values.remove(*at);
            Some(())
        }
        _ => None,
    }
}

/// Puts another text in the place of a text; `None` if none is there.
fn replace_text(document: &mut Value, path: &[Step]) -> Option<()> {
    let text = value_at(document, path).filter(|value| value.is_str())?;
    *text = Value::from("x");
    Some(())
}

/// True if a message names the key, alone or after its section.
fn is_named(message: &str, path: &[Step]) -> bool {
    let mut keys = path.iter().rev().map_while(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::At(_) => None,
    });
    let Some(key) = keys.next() else { return false };
    let in_section = keys.next().map(|section| format!("{section}.{key}"));
    message.contains(&format!("`{key}`"))
        || message.contains(&format!(".{key}`"))
        || in_section.is_some_and(|named| message.contains(&named))
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
    fn lines_of_change(before: &str, after: &str) -> (usize, usize) {
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
            let (expected, line) = lines_of_change(before, after);
            assert_eq!(line, expected, "{after}");
        }
        let missing = RECIPE.replacen("batch = 8\n", "", 1);
        assert_eq!(line_of_culprit(&missing, 15), 15, "that of the section without a key");
    }
}
