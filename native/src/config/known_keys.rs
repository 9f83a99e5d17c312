//! The keys that the reader of recipes knows in a section, as it answers to an unknown one.

use toml::{Table, Value};

use super::Recipe;
use super::explain::unknown_key;

/// A key that no section has.
const NONE: &str = "no-such-key";

impl Recipe {
    /// The keys of a section, a dotted path, if the reader refuses all others there. None of a section that this recipe lacks,
    /// and of one whose keys depend on a name in it.
    pub(crate) fn known_keys(&self, section: &str) -> Option<Vec<String>> {
        let mut table = Table::try_from(self).ok()?;
        let mut place = &mut table;
        for name in section.split('.').filter(|name| !name.is_empty()) {
            place = place.get_mut(name)?.as_table_mut()?;
        }
        if !section.is_empty() && place.contains_key("name") {
            return None;
        }
        place.insert(NONE.into(), Value::Boolean(true));
        let reason = Self::from_table(table).err()?;
        let known = reason.split_once("known: ")?.1;
        let mut known: Vec<String> = known.split(", ").map(str::to_owned).collect();
        // The reader of an augmentation takes its preset out before it reads the keys.
        known.extend(section.ends_with("augment").then(|| "preset".to_owned()));
        (unknown_key(&reason)? == NONE).then_some(known)
    }
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
        assert_eq!(recipe.known_keys("nowhere"), None);
    }
}
