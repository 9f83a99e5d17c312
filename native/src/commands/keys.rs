//! `simile keys`: the keys of recipes, or their JSON schema.

use anyhow::Result;
use serde_json::Value;

use crate::cli::Keys;
use crate::config::explain::nearest;
use crate::config::key_path::is_in;
use crate::config::keys::{Key, keys};
use crate::config::meanings::sections;
use crate::config::schema::schema;
use crate::console::{Console, table};
use crate::exit::usage;

/// Most names for a key that are listed; data sets and objectives have more, and pages of their own.
const NAMED: usize = 16;
/// Most values of a key that are listed.
const SHOWN: usize = 4;

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
    console.answer(&listed, || {
        // Two lines for each key, so that its meaning has room beside it.
        let mut rows = table(["Key\nType", "Meaning\nValues, or some in recipes"]);
        for key in &listed {
            let beside = format!("{}\n{}", key.meaning, values(key));
            rows.add_row([format!("{}\n{}", key.key, key.kind), beside.trim_end().to_owned()]);
        }
        format!(
            "{rows}\n`--set KEY=VALUE` changes one; `simile keys --schema` writes a JSON schema for editors."
        )
    })
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
