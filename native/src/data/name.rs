//! The name of a data set in recipes.

use std::fmt;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};
use simile_core::nn::EncoderConfig;

use super::sets;
use super::source::{Medium, Shape, Source};

/// A data set of the table [`sets::ALL`].
#[derive(Clone, Copy)]
pub(crate) struct DatasetName(&'static dyn Source);

impl DatasetName {
    /// The data set of a name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        sets::find(name).map(Self)
    }

    /// As recipes write it.
    pub(crate) fn name(self) -> &'static str {
        self.0.about().name
    }

    /// An encoder with the native size of the images as input size.
    pub(crate) fn native(self) -> EncoderConfig {
        let Shape { side, channels } = self.0.shape();
        EncoderConfig { input_size: side, channels, ..EncoderConfig::default() }
    }

    /// True if the data set consists of picture files, with annotations of them.
    pub(crate) fn has_pictures(self) -> bool {
        matches!(self.0.medium(), Medium::Pictures(_))
    }

    /// True if its pictures are the user's, and not those that authors published.
    pub(crate) fn is_own(self) -> bool {
        self.has_pictures() && !self.0.about().is_published()
    }

    /// True if it is generated, so that no files are needed.
    pub(crate) fn is_drawn(self) -> bool {
        matches!(self.0.medium(), Medium::Drawn(_))
    }
}

impl Deref for DatasetName {
    type Target = dyn Source;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl fmt::Debug for DatasetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatasetName").field(&self.name()).finish()
    }
}

impl PartialEq for DatasetName {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for DatasetName {}

impl Serialize for DatasetName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DatasetName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| D::Error::unknown_variant(&name, sets::names()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::de::IntoDeserializer as _;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    fn read(name: &str) -> Result<DatasetName, Error> {
        let deserializer: StrDeserializer<'_, Error> = name.into_deserializer();
        DatasetName::deserialize(deserializer)
    }

    #[test]
    fn names_are_read_as_they_are_written_and_an_unknown_one_lists_them() {
        for &set in sets::ALL {
            let name = read(set.about().name).unwrap();
            assert_eq!(serde_json::to_value(name).unwrap(), set.about().name);
        }
        let text = read("cifar10").unwrap_err().to_string();
        assert!(text.contains("unknown variant `cifar10`") && text.contains("`cifar-10`"), "{text}");
    }
}
