//! The keys of `[data]`: the values of those that every data set has, and the reading of those that belong to certain data sets.

pub(crate) mod of_dataset;
pub(crate) mod values;

/// A refused key of `[data]`.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) key: &'static str,
    pub(crate) reason: String,
}

impl Refused {
    pub(crate) fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }
}
