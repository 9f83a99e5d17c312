//! The keys that the reader of recipes knows in a section, as it answers to an unknown one.

use toml::{Table, Value};

use super::Recipe;

/// A name that no key and no kind of a section has.
const NONE: &str = "no-such-name";

impl Recipe {
    /// The keys of a section, a dotted path, if the reader refuses all others there. None of a section that there is not, and of
    /// one whose keys depend on a name in it.
    pub(crate) fn known_keys(&self, section: &str) -> Option<Vec<String>> {
        let mut table = Table::try_from(self).ok()?;
        let place = inner(&mut table, section)?;
        if !section.is_empty() && place.contains_key("name") {
            return None;
        }
        place.insert(NONE.into(), Value::Boolean(true));
        let mut known = known_instead_of("key", table)?;
        // The reader of an augmentation takes its preset out before it reads the keys.
        known.extend(section.ends_with("augment").then(|| "preset".to_owned()));
        Some(known)
    }

    /// The keys of a section whose keys depend on the name in it, for each of the names; none of another section.
    pub(crate) fn keys_by_name(&self, section: &str) -> Option<Vec<String>> {
        let of_name = |name: &str| {
            let mut table = Table::try_from(self).ok()?;
            let place = inner(&mut table, section).filter(|_| !section.is_empty())?;
            *place = Table::from_iter([("name", Value::from(name)), (NONE, Value::Boolean(true))].map(owned));
            known_instead_of(if name == NONE { "value" } else { "key" }, table)
        };
        Some(of_name(NONE)?.iter().filter_map(|name| of_name(name)).flatten().collect())
    }
}

fn owned((key, value): (&str, Value)) -> (String, Value) {
    (key.to_owned(), value)
}

/// A section, which is created if it is missing; `None` if that is a value.
fn inner<'t>(table: &'t mut Table, section: &str) -> Option<&'t mut Table> {
    let mut names = section.split('.').filter(|name| !name.is_empty());
    let created = || Value::Table(Table::new());
    names.try_fold(table, |place, name| place.entry(name).or_insert_with(created).as_table_mut())
}

/// The keys, or the values, that the reader knows in place of [`NONE`].
fn known_instead_of(kind: &str, table: Table) -> Option<Vec<String>> {
    let reason = Recipe::from_table(table).err()?;
    let (unknown, known) = reason.split_once("known: ")?;
    let known = known.split(", ").map(str::to_owned).collect();
    unknown.contains(&format!("unknown {kind} `{NONE}`")).then_some(known)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Changes;

    #[test]
    fn the_reader_says_its_keys() {
        let recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        let of = |section: &str| recipe.known_keys(section).unwrap_or_default();
        assert!(of("").contains(&"probe".to_owned()) && of("").contains(&"arm".to_owned()), "{:?}", of(""));
        assert!(of("train").contains(&"iterations".to_owned()) && of("train").contains(&"ema".to_owned()));
        assert_eq!(recipe.known_keys("encoder"), None, "its keys depend on its name");
        let by_name = |section: &str| recipe.keys_by_name(section).unwrap_or_default();
        assert!(by_name("method").contains(&"chunk".to_owned()), "{:?}", by_name("method"));
        assert!(by_name("encoder").contains(&"stem".to_owned()), "{:?}", by_name("encoder"));
        assert_eq!((recipe.keys_by_name("train"), recipe.keys_by_name("nowhere")), (None, None));
        assert_eq!(recipe.known_keys("encoder.stem"), None, "a value");
        assert!(of("data.table").contains(&"csv".to_owned()), "a section that this recipe lacks");
        assert_eq!((recipe.known_keys("nowhere"), recipe.known_keys("train.ema")), (None, None));
    }
}
