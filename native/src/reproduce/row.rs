//! A row of a table as it is written in a file.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `[[row]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// A recipe other than the table's.
    #[serde(default)]
    pub(crate) recipe: Option<String>,
    /// The line of a table or figure to which this row belongs.
    #[serde(default)]
    pub(crate) series: Option<String>,
    /// The place on that line.
    #[serde(default)]
    pub(crate) x: Option<String>,
    /// The reason why this row cannot be run, if there is one.
    #[serde(default)]
    pub(crate) missing: Option<String>,
    /// The row whose trained encoder initialises this one.
    #[serde(default)]
    pub(crate) from: Option<String>,
    /// The row whose trained encoder is the prior that this one conditions on.
    #[serde(default)]
    pub(crate) prior: Option<String>,
    /// Rows of the same block are compared with the first of them; without it, rows of the same `x` are.
    #[serde(default)]
    pub(crate) block: Option<String>,
    /// The variant of the recipe for this row; its only one if absent.
    #[serde(default)]
    pub(crate) variant: Option<String>,
    /// Keys that this row changes.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Keys that this row changes at the scale `cpu`; they override those of the scale.
    #[serde(default)]
    pub(crate) cpu: Vec<String>,
    /// The published mean of each metric by name, and the ± where one is printed. None for rows that are ours.
    #[serde(default)]
    pub(crate) published: BTreeMap<String, Vec<f64>>,
}

impl Row {
    /// Its block, whose rows are compared with each other.
    pub(crate) fn in_block(&self) -> Option<&str> {
        self.block.as_deref().or(self.x.as_deref())
    }

    /// The groups that select it by name: its column and its line of the table.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        [&self.block, &self.series].into_iter().flatten().map(String::as_str)
    }
}
