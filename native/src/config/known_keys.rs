//! Lists the keys of a section and their types: gives the reader of recipes an unknown key, or a value of another type, whose error
//! says them.

use toml::{Table, Value};

use super::reader_error::{ReaderError, Unknown, ValueType};
use super::recipe::Recipe;

/// A name that no key and no kind of a section has.
const NONE: &str = "no-such-name";

impl Recipe {
    /// The keys of a section, a dotted path, if the reader refuses all others there. `None` if the section does not exist, or if
    /// its keys depend on its `name`.
    pub(crate) fn known_keys(&self, section: &str) -> Option<Vec<String>> {
        let mut table = Table::try_from(self).ok()?;
        let place = inner(&mut table, section)?;
        if !section.is_empty() && place.contains_key("name") {
            return None;
        }
        place.insert(NONE.into(), Value::Boolean(true));
        let mut known = known_keys(table)?;
        // The reader of an augmentation takes its preset out before it reads the keys.
        known.extend(section.ends_with("augment").then(|| "preset".to_owned()));
        Some(known)
    }

    /// The keys of a section whose keys depend on the name in it, for each of the names; none of another section.
    pub(crate) fn keys_by_name(&self, section: &str) -> Option<Vec<String>> {
        let of_name = |name: &String| known_keys(self.named(section, name, (NONE, true.into()))?);
        Some(self.names(section)?.iter().filter_map(of_name).flatten().collect())
    }

    /// The type of a key's value, as in JSON, by the reader's answer to a table in its place; none if the answer names none.
    pub(crate) fn type_of_key(&self, key: &str) -> Option<&'static str> {
        self.tables_with(key, &unknown()).find_map(|table| expected_by(&Recipe::from_table(table).err()?))
    }

    /// The names that a key takes; none of a key that takes any text, or something else.
    pub(crate) fn names_of_key(&self, key: &str) -> Vec<String> {
        self.tables_with(key, &NONE.into()).find_map(known_names).unwrap_or_default()
    }

    /// The recipe with a value at a key: in its section as it is, and in that of each kind.
    fn tables_with<'a>(&'a self, key: &'a str, value: &'a Value) -> impl Iterator<Item = Table> + 'a {
        let (section, last) = key.rsplit_once('.').unwrap_or(("", key));
        let plain = move || {
            let mut table = Table::try_from(self).ok()?;
            inner(&mut table, section)?.insert(last.into(), value.clone());
            Some(table)
        };
        let names = self.names(section).unwrap_or_default().into_iter();
        let named = move |name: String| self.named(section, &name, (last, value.clone()));
        names.filter(move |_| last != "name").filter_map(named).chain(std::iter::once_with(plain).flatten())
    }

    /// The names of the kinds of a section whose keys depend on the name in it; none of another section.
    fn names(&self, section: &str) -> Option<Vec<String>> {
        known_names(self.named(section, NONE, (NONE, true.into()))?)
    }

    /// The recipe with nothing in a section but a name and the value of a key.
    fn named(&self, section: &str, name: &str, key: (&str, Value)) -> Option<Table> {
        let mut table = Table::try_from(self).ok()?;
        let place = inner(&mut table, section).filter(|_| !section.is_empty())?;
        *place = Table::from_iter([("name", Value::from(name)), key].map(owned));
        Some(table)
    }
}

/// A table with a key that the reader knows nowhere.
fn unknown() -> Value {
    Value::Table(Table::from_iter([(NONE.to_owned(), Value::Boolean(true))]))
}

/// The type that the reader expected in place of [`unknown`].
fn expected_by(error: &ReaderError) -> Option<&'static str> {
    match error {
        // The reader refuses the key of `unknown`, so it reads a table with known keys; or its value `true`, so it reads one with any
        // keys, whose values have another type.
        ReaderError::UnknownKey(unknown) if unknown.word == NONE => Some("table"),
        ReaderError::WrongType { found: Some(ValueType::Boolean), .. } => Some("table"),
        // Names are written as text, and the reader takes such a table for one of them.
        ReaderError::UnknownValue(unknown) if unknown.word == NONE => Some("string"),
        ReaderError::WrongType { found: Some(ValueType::Section) | None, expected, .. } => {
            expected.map(in_lists)
        }
        _ => None,
    }
}

/// The name of a type in lists of keys.
fn in_lists(of: ValueType) -> &'static str {
    match of {
        ValueType::Boolean => "boolean",
        ValueType::Integer => "integer",
        ValueType::Number => "number",
        ValueType::String => "string",
        ValueType::Array => "array",
        ValueType::Section => "table",
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

/// The keys that the reader knows in place of [`NONE`].
fn known_keys(table: Table) -> Option<Vec<String>> {
    match Recipe::from_table(table).err()? {
        ReaderError::UnknownKey(unknown) => known_instead(unknown),
        _ => None,
    }
}

/// The names that the reader knows in place of [`NONE`].
fn known_names(table: Table) -> Option<Vec<String>> {
    match Recipe::from_table(table).err()? {
        ReaderError::UnknownValue(unknown) | ReaderError::UnknownPreset(unknown) => known_instead(unknown),
        _ => None,
    }
}

/// The words that the reader knows, if there are any, and [`NONE`] is the one that it does not know.
fn known_instead(Unknown { word, known }: Unknown) -> Option<Vec<String>> {
    (word == NONE && !known.is_empty()).then_some(known)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::{Changes, FORMER_VARIANTS};

    #[test]
    fn the_reader_says_its_keys() {
        let recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        let of = |section: &str| recipe.known_keys(section).unwrap_or_default();
        assert!(
            of("").contains(&"probe".to_owned()) && of("").contains(&"variant".to_owned()),
            "{:?}",
            of("")
        );
        assert!(!of("").contains(&FORMER_VARIANTS.to_owned()), "the former name is read, and not proposed");
        assert!(of("train").contains(&"iterations".to_owned()) && of("train").contains(&"ema".to_owned()));
        assert_eq!(recipe.known_keys("encoder"), None, "its keys depend on its name");
        let by_name = |section: &str| recipe.keys_by_name(section).unwrap_or_default();
        assert!(by_name("method").contains(&"chunk".to_owned()), "{:?}", by_name("method"));
        assert!(by_name("encoder").contains(&"stem".to_owned()), "{:?}", by_name("encoder"));
        assert_eq!((recipe.keys_by_name("train"), recipe.keys_by_name("nowhere")), (None, None));
        assert_eq!(recipe.known_keys("encoder.stem"), None, "a value");
        assert!(of("data.table").contains(&"csv".to_owned()), "a section that this recipe lacks");
        for (key, kind) in [
            ("train.ema", "number"),
            ("encoder.width", "integer"),
            ("augment.centre_crop", "boolean"),
            ("augment.crop.ratio", "array"),
            ("augment.preset", "string"),
            ("augment.crop.interpolation", "string"),
            ("data.table.csv", "string"),
            ("data.table.conditions", "table"),
            ("method.chunk", "integer"),
            ("method.statistics", "string"),
            ("classified", "table"),
        ] {
            assert_eq!(recipe.type_of_key(key), Some(kind), "{key}");
        }
        assert_eq!(recipe.type_of_key("probe.ridge"), None, "a number, or numbers");
        assert_eq!(recipe.names_of_key("encoder.stem"), ["imagenet", "cifar", "cifar-padded"]);
        assert_eq!(recipe.names_of_key("method.statistics"), ["chunk", "batch"]);
        assert!(recipe.names_of_key("encoder.name").contains(&"vit-s16".to_owned()));
        assert_eq!(recipe.names_of_key("data.table.csv"), [""; 0]);
        assert_eq!((recipe.known_keys("nowhere"), recipe.known_keys("train.ema")), (None, None));
    }
}
