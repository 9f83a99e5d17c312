//! Keys of `[data]` that belong to certain data sets: a section, such as `[data.faces]`, or a value, `data.correlation`.
//!
//! The file of a data set defines the type of its key, a [`DatasetOption`], and names it in
//! [`Source::options`](crate::data::source::Source::options). `[data]` knows no data set: it reads the key by its [`OptionType`], and
//! keeps, checks and writes it in [`DatasetOptions`].
//!
//! A key is read as a TOML value and then converted to its type; `config/culprit.rs` finds the line of a wrong value in a section.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Deserialize as _, Serialize, Serializer};
use simile_core::data::synthetic::colour_mnist::Colours;
use toml::Value;

use super::Refused;

/// The settings of `[data]` for reading a data set, the input of a [`Source`](crate::data::source::Source).
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadOptions {
    pub(crate) train: Option<usize>,
    pub(crate) test: Option<usize>,
    pub(crate) colours: Colours,
    /// The keys that belong to the data set.
    pub(crate) of_dataset: DatasetOptions,
}

impl ReadOptions {
    /// Settings with one key, and all others by default.
    pub(crate) fn with<O: DatasetOption>(option: O) -> Self {
        Self { of_dataset: DatasetOptions::default().with(option), ..Self::default() }
    }

    /// A key that belongs to the data set, if it is given.
    pub(crate) fn get<O: DatasetOption>(&self) -> Option<&O> {
        self.of_dataset.get()
    }
}

/// A key of `[data]` that belongs to certain data sets, with the type of its value or section.
pub(crate) trait DatasetOption:
    fmt::Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The name below `data`.
    const KEY: &'static str;

    /// The meanings of the key and of each key in its section, by their paths below the key; the path of the key itself is empty.
    const MEANINGS: &'static [(&'static str, &'static str)];

    /// Checks the range of each value.
    ///
    /// # Errors
    /// Says which value is out of range.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Checks that no value is ignored because of another one, or makes no sense beside it, in recipes that a user gives.
    ///
    /// # Errors
    /// Says which value that is.
    fn check_use(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A key and the functions that read it as its Rust type, which is no part of this type: so keys of all data sets can be in one list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionType {
    pub(crate) key: &'static str,
    /// The [`DatasetOption::MEANINGS`] of the key.
    pub(crate) meanings: &'static [(&'static str, &'static str)],
    /// Converts the whole value of the key.
    convert: fn(Value) -> Result<Arc<dyn OptionValue>, String>,
    #[cfg(test)]
    pub(crate) kind: std::any::TypeId,
}

impl OptionType {
    pub(crate) const fn of<O: DatasetOption>() -> Self {
        Self {
            key: O::KEY,
            meanings: O::MEANINGS,
            convert: convert::<O>,
            #[cfg(test)]
            kind: std::any::TypeId::of::<O>(),
        }
    }
}

/// The value of a key as given, of any [`DatasetOption`] type.
trait OptionValue: fmt::Debug + Any + Send + Sync {
    fn to_toml(&self) -> Result<Value, toml::ser::Error>;
    fn equals(&self, other: &dyn OptionValue) -> bool;
    fn check(&self) -> Result<(), String>;
    fn check_use(&self) -> Result<(), String>;
}

impl<O: DatasetOption> OptionValue for O {
    fn to_toml(&self) -> Result<Value, toml::ser::Error> {
        Value::try_from(self)
    }

    fn equals(&self, other: &dyn OptionValue) -> bool {
        (other as &dyn Any).downcast_ref::<O>() == Some(self)
    }

    fn check(&self) -> Result<(), String> {
        DatasetOption::check(self)
    }

    fn check_use(&self) -> Result<(), String> {
        DatasetOption::check_use(self)
    }
}

/// The keys that belong to certain data sets, as given.
#[derive(Debug, Clone, Default)]
pub(crate) struct DatasetOptions(BTreeMap<&'static str, Arc<dyn OptionValue>>);

impl DatasetOptions {
    pub(crate) fn get<O: DatasetOption>(&self) -> Option<&O> {
        let value: &dyn Any = self.0.get(O::KEY)?.as_ref();
        value.downcast_ref()
    }

    #[must_use]
    pub(crate) fn with<O: DatasetOption>(mut self, option: O) -> Self {
        self.0.insert(O::KEY, Arc::new(option));
        self
    }

    pub(in crate::data) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Checks the range of each value.
    ///
    /// # Errors
    /// Names the refused key.
    pub(in crate::data) fn check(&self) -> Result<(), Refused> {
        self.0.iter().try_for_each(|(key, value)| value.check().map_err(|reason| Refused::new(key, reason)))
    }

    /// Checks that no value is ignored because of another one of its key, or makes no sense beside it.
    ///
    /// # Errors
    /// Names the refused key.
    pub(in crate::data) fn check_use(&self) -> Result<(), Refused> {
        self.0
            .iter()
            .try_for_each(|(key, value)| value.check_use().map_err(|reason| Refused::new(key, reason)))
    }

    /// Reads the next value of a map, which is that of the key `option`.
    ///
    /// # Errors
    /// If the value is not of the type.
    pub(in crate::data) fn read<'de, A: MapAccess<'de>>(
        &mut self,
        option: OptionType,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let value = map.next_value_seed(OptionReader(option))?;
        self.0.insert(option.key, value);
        Ok(())
    }
}

impl PartialEq for DatasetOptions {
    fn eq(&self, other: &Self) -> bool {
        let mut values = self.0.values().zip(other.0.values());
        self.0.keys().eq(other.0.keys()) && values.all(|(one, other)| one.equals(other.as_ref()))
    }
}

impl Serialize for DatasetOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, &value.to_toml().map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

/// Reads the value of a key: any TOML value first, then its type.
struct OptionReader(OptionType);

impl<'de> DeserializeSeed<'de> for OptionReader {
    type Value = Arc<dyn OptionValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let value = Value::deserialize(deserializer)?;
        (self.0.convert)(value).map_err(D::Error::custom)
    }
}

fn convert<O: DatasetOption>(value: Value) -> Result<Arc<dyn OptionValue>, String> {
    let option: O = value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
    Ok(Arc::new(option))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::de::Visitor;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Birds {
        wings: usize,
        #[serde(default)]
        colour: String,
        #[serde(default)]
        names: BTreeMap<String, Vec<String>>,
    }

    impl DatasetOption for Birds {
        const KEY: &'static str = "birds";
        const MEANINGS: &'static [(&'static str, &'static str)] = &[];
    }

    /// A document whose only key is `birds`.
    #[derive(Debug, Default, PartialEq)]
    struct Document(DatasetOptions);

    impl<'de> serde::Deserialize<'de> for Document {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(Self::default())
        }
    }

    impl<'de> Visitor<'de> for Document {
        type Value = Self;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("birds")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
            while map.next_key::<String>()?.is_some() {
                self.0.read(OptionType::of::<Birds>(), &mut map)?;
            }
            Ok(self)
        }
    }

    /// The message of a refused document.
    fn refused(text: &str) -> String {
        toml::from_str::<Document>(text).unwrap_err().message().to_owned()
    }

    #[test]
    fn a_section_is_kept_with_its_type_and_written_as_it_was() {
        let text = "[birds]\ncolour = \"red\"\nwings = 2\n\n[birds.names]\nde = [\"Rotkehlchen\"]\n";
        let document: Document = toml::from_str(text).unwrap();
        let birds = document.0.get::<Birds>().unwrap();
        assert_eq!((birds.wings, birds.names["de"].as_slice()), (2, &["Rotkehlchen".to_owned()][..]));
        assert_eq!(toml::to_string(&document.0).unwrap(), text);
        assert_eq!(document, toml::from_str(&text.replace("[birds.names]\n", "names.")).unwrap());
        let json = serde_json::to_string(&document.0).unwrap();
        assert_eq!(document, serde_json::from_str(&json).unwrap());
        assert!(serde_json::from_str::<Document>(&json.replace(":2", ":9223372036854775808")).is_err());
        assert_ne!(document, toml::from_str("birds = { wings = 2 }").unwrap());
        assert_ne!(document, Document::default());
    }

    #[test]
    fn an_error_names_the_wrong_value_or_key() {
        let message = refused("[birds]\ncolour = \"red\"\nwings = \"two\"\n");
        assert!(message.contains("invalid type: string \"two\""), "{message}");
        let message = refused("birds.wings = 2\nbirds.legs = 2\n");
        assert_eq!(message, "unknown field `legs`, expected one of `wings`, `colour`, `names`");
        let message = refused("[birds]\nwings = 2\n[birds.names]\nde = \"Rotkehlchen\"\n");
        assert!(message.contains("expected a sequence"), "{message}");
        assert!(refused("[birds]\ncolour = \"red\"\n").contains("missing field `wings`"));
        assert!(refused("birds = 2\n").contains("invalid type: integer `2`, expected struct Birds"));
    }
}
