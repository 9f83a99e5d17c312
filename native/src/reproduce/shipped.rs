//! The tables inside the binary.

use anyhow::Result;

use super::table::Table;
use crate::config::explain::suggestion;
use crate::exit::usage;

/// A table that ships.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShippedTable {
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
}

/// All shipped tables, by work, which are the files of `tables` (`build.rs` lists them).
pub(crate) const TABLES: &[ShippedTable] = include!(concat!(env!("OUT_DIR"), "/tables.rs"));

impl ShippedTable {
    /// Finds a table by its name.
    ///
    /// # Errors
    /// A usage error that names the nearest.
    pub(crate) fn find(name: &str) -> Result<Self> {
        let known = TABLES.iter().map(|table| table.name);
        TABLES
            .iter()
            .find(|table| table.name == name)
            .copied()
            .ok_or_else(|| usage(format_args!("no table is named `{name}`{}", suggestion(name, known))))
    }

    /// The command that runs all of it at the published budget.
    pub(crate) fn full_command(&self) -> String {
        format!("simile reproduce {} --scale full --data DIR", self.name)
    }

    /// Parses its file.
    ///
    /// # Errors
    /// If the file is not valid, which a test excludes.
    pub(crate) fn read(&self) -> Result<Table> {
        let table =
            Table::parse(self.text).map_err(|reason| anyhow::anyhow!("table `{}`, {reason}", self.name))?;
        match &table.of {
            Some(of) => {
                let rows = Self::find(of)?.read()?;
                Ok(table.with_rows_of(rows))
            }
            None => Ok(table),
        }
    }
}

#[cfg(test)]
mod tests;
