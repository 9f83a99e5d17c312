//! Reads `[data]`: the keys of all data sets as its fields, those of certain data sets by the types that these name.

use std::fmt;
use std::sync::OnceLock;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer, forward_to_deserialize_any};

use super::DataSection;
use crate::data::keys::of_dataset::{DatasetOptions, OptionType};
use crate::data::sets;

impl<'de> Deserialize<'de> for DataSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut of_dataset = DatasetOptions::default();
        let section = Self::deserialize(SectionReader { inner: deserializer, of_dataset: &mut of_dataset })?;
        Ok(Self { of_dataset, ..section })
    }
}

impl Serialize for DataSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

/// The reader of a section, which puts the keys of certain data sets into `of_dataset`.
struct SectionReader<'o, D> {
    inner: D,
    of_dataset: &'o mut DatasetOptions,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for SectionReader<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = SectionVisitor { visitor, fields, of_dataset: self.of_dataset };
        self.inner.deserialize_struct(name, fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// The visitor of the fields of the section, by their names.
struct SectionVisitor<'o, V> {
    visitor: V,
    fields: &'static [&'static str],
    of_dataset: &'o mut DatasetOptions,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for SectionVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let Self { visitor, fields, of_dataset } = self;
        visitor.visit_map(SectionMap { map, fields, of_dataset })
    }
}

/// The map of a section, of which the keys of certain data sets are read aside.
struct SectionMap<'o, A> {
    map: A,
    fields: &'static [&'static str],
    of_dataset: &'o mut DatasetOptions,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for SectionMap<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.map.next_key_seed(KeyReader(self.fields))? {
                Some(Key::OfDataset(option)) => self.of_dataset.read(option, &mut self.map)?,
                Some(Key::OfAll(key)) => return seed.deserialize(key.into_deserializer()).map(Some),
                None => return Ok(None),
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

enum Key {
    OfAll(&'static str),
    OfDataset(OptionType),
}

/// Reads a key, given those of all data sets.
struct KeyReader(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for KeyReader {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        let key = String::deserialize(deserializer)?;
        let common = self.0.iter().copied().find(|field| *field == key).map(Key::OfAll);
        common
            .or_else(|| sets::option(&key).map(Key::OfDataset))
            .ok_or_else(|| D::Error::unknown_field(&key, known(self.0)))
    }
}

/// All keys, for the error of an unknown one.
fn known(fields: &'static [&'static str]) -> &'static [&'static str] {
    static KNOWN: OnceLock<Vec<&'static str>> = OnceLock::new();
    KNOWN.get_or_init(|| fields.iter().copied().chain(sets::options().map(|option| option.key)).collect())
}
