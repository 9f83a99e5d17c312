//! The split on which probes are measured, in words.

use std::fmt;

use simile_core::data::Split;

/// The split on which probes are measured. It is displayed as the word before `images`, `vectors` or another name of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvaluationSplit {
    Test,
    /// The official validation split.
    Validation,
    /// Training images that `data.validation` holds out.
    HeldOut,
    /// Rows that are drawn from those of a table in which no column says the split.
    NoColumn,
}

impl EvaluationSplit {
    /// The key of `[data]` that sets how many images it has.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::HeldOut => "validation",
            Self::Test | Self::Validation | Self::NoColumn => "test",
        }
    }

    /// The split of its rows in a table, as `simile evaluate --vectors` reads it. Held-out training images are not of the test split.
    pub(crate) fn in_table(self) -> Split {
        match self {
            Self::Validation | Self::HeldOut => Split::Validation,
            Self::Test | Self::NoColumn => Split::Test,
        }
    }

    /// Its name in the protocol of a measurement.
    pub(crate) fn in_protocol(self) -> String {
        match self {
            Self::NoColumn => format!("{self} (no column says which)"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for EvaluationSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Test => "test",
            Self::Validation => "validation",
            Self::HeldOut => "held-out training",
            Self::NoColumn => "held-out",
        })
    }
}
