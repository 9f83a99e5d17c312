//! `simile keys`: the keys of recipes, or their JSON schema.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::Value;

use crate::cli::Keys;
use crate::config::explain::nearest;
use crate::config::key_path::is_in;
use crate::config::keys::{Key, keys};
use crate::config::meanings::{Meanings, sections};
use crate::config::schema::schema;
use crate::console::{Console, table};
use crate::exit::usage;

/// Most names for a key that are listed; data sets and objectives have more, and pages of their own.
const NAMED: usize = 16;
/// Most values of a key that are listed.
const SHOWN: usize = 4;
/// A section with the keys of `augment`, whose row stands for them in a longer list.
const LIKE_AUGMENT: &str = "classified.augment";

pub(super) fn run(arguments: &Keys, console: Console) -> Result<()> {
    let keys = keys()?;
    if arguments.schema {
        let schema = schema(&keys)?;
        return console.answer(&schema, || format!("{schema:#}"));
    }
    let listed: Vec<&Key> = keys
        .iter()
        .filter(|key| arguments.section.as_ref().is_none_or(|section| is_in(&key.key, section)))
        .collect();
    if let (true, Some(section)) = (listed.is_empty(), &arguments.section) {
        let known: Vec<&str> = keys.iter().map(|key| key.key.as_str()).collect();
        let known = sections(known.iter().copied()).chain(known.iter().copied());
        let hint = nearest(section, known)
            .map_or_else(|| ";".to_owned(), |near| format!("; did you mean `{near}`?"));
        return Err(usage(format_args!("no key begins with `{section}`{hint} `simile keys` lists all")));
    }
    let rows = rows(&listed, arguments.section.as_deref().unwrap_or_default())?;
    console.answer(&listed, || {
        let mut shown = table(["Key\nType", "Meaning\nValues, or some in recipes"]);
        for row in rows {
            shown.add_row(row);
        }
        format!(
            "{shown}\n`--set KEY=VALUE` changes one; `simile keys --schema` writes a JSON schema for editors."
        )
    })
}

/// The keys, and before the first key of each section within the one that was asked for, the section. A cell has two lines, so that a
/// meaning has room beside its key.
fn rows(listed: &[&Key], asked: &str) -> Result<Vec<[String; 2]>> {
    let meanings = Meanings::read()?;
    let mut named: BTreeSet<&str> = listed.iter().map(|key| key.key.as_str()).collect();
    let is_asked = |name: &str| asked.is_empty() || is_in(name, asked);
    let is_repeated =
        |name: &str| name != LIKE_AUGMENT && is_in(name, LIKE_AUGMENT) && !is_in(asked, LIKE_AUGMENT);
    let mut rows = Vec::new();
    for key in listed {
        for section in sections(std::iter::once(key.key.as_str())) {
            if is_asked(section) && !is_repeated(section) && named.insert(section) {
                rows.push([format!("[{section}]\ntable"), meanings.of(section)?]);
            }
        }
        if !is_repeated(&key.key) {
            let beside = format!("{}\n{}", key.meaning, values(key));
            rows.push([format!("{}\n{}", key.key, key.kind), beside.trim_end().to_owned()]);
        }
    }
    Ok(rows)
}

/// The values of a key in words: all names that it takes, or some in recipes that ship; nothing of one that is true or false.
fn values(key: &Key) -> String {
    if (1..=NAMED).contains(&key.names.len()) {
        return format!("one of {}", key.names.join(", "));
    }
    if key.examples.iter().all(Value::is_boolean) {
        return String::new();
    }
    let mut examples: Vec<String> = key.examples.iter().take(SHOWN).map(Value::to_string).collect();
    if key.examples.len() > SHOWN {
        examples.push("...".into());
    }
    format!("such as {}", examples.join(", "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_section_stands_before_its_keys() {
        let keys = keys().unwrap();
        let names = |asked: &str| -> Vec<String> {
            let listed: Vec<&Key> =
                keys.iter().filter(|key| asked.is_empty() || is_in(&key.key, asked)).collect();
            let rows = rows(&listed, asked).unwrap();
            rows.iter().map(|[key, _]| key.split('\n').next().unwrap().to_owned()).collect()
        };
        assert_eq!(names("data.attributes")[..2], ["[data.attributes]", "data.attributes.count"]);
        assert_eq!(names("data.attributes.count"), ["data.attributes.count"]);
        assert_eq!(names("augment")[..3], ["[augment]", "[augment.blur]", "augment.blur.kernel"]);
        // A key that is a table or a name has one row.
        assert!(!names("data").contains(&"[data.normalise]".to_owned()));
        assert_eq!(names("classified"), ["[classified]", "[classified.augment]", "classified.batch"]);
        assert!(names("classified.augment").contains(&"classified.augment.blur.kernel".to_owned()));
    }
}
