//! A name that ships, given to a command that takes things of another kind.

use std::path::Path;

use anyhow::Result;

use crate::config::shipped::SHIPPED;
use crate::data::sets;
use crate::exit::usage;
use crate::reproduce::shipped::TABLES;

/// The kinds of things that ship by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum ShippedKind {
    Recipe,
    /// A published table or figure.
    Table,
    Dataset,
}

impl ShippedKind {
    const ALL: [Self; 3] = [Self::Recipe, Self::Table, Self::Dataset];

    /// The name of this kind that is `name` but for upper and lower case, if there is one.
    fn find(self, name: &str) -> Option<&'static str> {
        let is_it = |known: &&'static str| known.eq_ignore_ascii_case(name);
        match self {
            Self::Recipe => SHIPPED.iter().map(|recipe| recipe.name).find(is_it),
            Self::Table => TABLES.iter().map(|table| table.name).find(is_it),
            Self::Dataset => sets::names().iter().copied().find(is_it),
        }
    }

    /// The command for a name of this kind, in words.
    fn remedy(self, name: &str) -> String {
        match self {
            Self::Recipe => format!("`{name}` is a recipe: `simile train {name}` runs it"),
            Self::Table => {
                format!("`{name}` is a published table or figure: `simile reproduce {name}` makes it")
            }
            Self::Dataset => {
                format!(
                    "`{name}` is a data set, which recipes name: `simile data list {name}` says all about it"
                )
            }
        }
    }
}

/// Refuses a name that ships as another kind than those that a command takes. A file of that name, where the command takes recipes,
/// goes before.
///
/// # Errors
/// A usage error with the command for it.
pub(in crate::commands) fn refuse_other_kind(name: &str, accepted: &[ShippedKind]) -> Result<()> {
    let is_file = accepted.contains(&ShippedKind::Recipe) && Path::new(name).exists();
    if is_file || accepted.iter().any(|kind| kind.find(name).is_some()) {
        return Ok(());
    }
    let other = ShippedKind::ALL.into_iter().find_map(|kind| Some(kind.remedy(kind.find(name)?)));
    other.map_or(Ok(()), |remedy| Err(usage(remedy)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::ShippedKind::{Dataset, Recipe, Table};
    use super::*;

    #[test]
    fn a_name_of_another_kind_is_told_its_command() {
        let refused =
            |name: &str, accepted: &[ShippedKind]| refuse_other_kind(name, accepted).unwrap_err().to_string();
        assert_eq!(
            refused("cclk-figure3", &[Recipe]),
            "`cclk-figure3` is a published table or figure: `simile reproduce cclk-figure3` makes it"
        );
        assert!(refused("CCLK-table3", &[Recipe, Dataset]).contains("`simile reproduce cclk-table3`"));
        assert!(refused("fair-digits", &[Table]).contains("`simile train fair-digits`"));
        assert!(refused("digits", &[Recipe]).contains("`simile data list digits`"));
        for (name, accepted) in
            [("fair-digits", Recipe), ("cclk-table3", Table), ("digits", Dataset), ("nothing", Table)]
        {
            assert!(refuse_other_kind(name, &[accepted]).is_ok(), "{name}");
        }
    }
}
