//! The tables inside the binary.

use anyhow::Result;

use super::table::Table;
use crate::exit::usage;
use crate::recipe::explain::suggestion;

/// A table that ships.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShippedTable {
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
}

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        [$(ShippedTable { name: $name, text: include_str!(concat!("../../tables/", $name, ".toml")) }),*]
    };
}

/// All of them, by work.
pub(crate) const TABLES: &[ShippedTable] = &tables![
    "cclk-table2",
    "cclk-table3",
    "cclk-table4",
    "cclk-table5",
    "cclk-table6",
    "cclk-table7",
    "cclk-table8",
    "cclk-figure2",
    "cclk-figure3",
    "cclk-figure4",
    "contex-table1",
    "contex-table2",
    "contex-table3",
    "contex-table4",
    "contex-table5",
    "contex-table6",
    "contex-table7",
    "contex-table8",
    "contex-table9",
    "contex-figure4",
    "contex-figure5",
    "contex-figure6",
    "contex-figure7",
    "difficulty-table1",
    "difficulty-table2",
    "difficulty-digits",
    "difficulty-figure-tsne",
    "difficulty-figure-negatives",
    "du-table1",
    "du-table2",
    "du-table3",
    "du-table4",
    "du-table5",
    "du-digits",
];

impl ShippedTable {
    /// The table of that name.
    ///
    /// # Errors
    /// A usage error that names the nearest.
    pub(crate) fn find(name: &str) -> Result<Self> {
        let known: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
        TABLES
            .iter()
            .find(|table| table.name == name)
            .copied()
            .ok_or_else(|| usage(format_args!("no table is named `{name}`{}", suggestion(name, &known))))
    }

    /// The command that runs all of it at the published budget.
    pub(crate) fn full_command(&self) -> String {
        format!("simile reproduce {} --scale full --data DIR", self.name)
    }

    /// What its file says.
    ///
    /// # Errors
    /// If the file is not sound, which a test sees to.
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
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::reproduce::table::{FigureSection, NO_RECIPE, Scale};
    use crate::run::folder::slug;

    #[test]
    fn every_table_is_sound_and_what_can_run_resolves_at_every_scale() {
        for shipped in TABLES {
            let table = shipped.read().unwrap();
            let metrics: Vec<&str> = table.metric.iter().map(|metric| metric.name.as_str()).collect();
            assert!(!table.row.is_empty(), "{}: nothing to run", shipped.name);
            let folders: BTreeSet<String> = table.row.iter().map(|row| slug(&row.name)).collect();
            assert_eq!(folders.len(), table.row.len(), "{}: two rows would share a folder", shipped.name);
            for row in &table.row {
                let needs = row.from.is_some() || row.prior.is_some();
                assert!(!(row.from.is_some() && row.prior.is_some()), "{}, {}", shipped.name, row.name);
                assert_eq!(table.parent(row).is_some(), needs, "{}, {}", shipped.name, row.name);
                assert!(table.lineage(row).len() <= 3, "{}, {}: a circle", shipped.name, row.name);
                let unknown = row.published.keys().find(|name| !metrics.contains(&name.as_str()));
                assert_eq!(unknown, None, "{}, {}", shipped.name, row.name);
                if let Some(missing) = table.missing(row) {
                    assert_ne!(missing, NO_RECIPE, "{} says nothing of what is missing", shipped.name);
                    continue;
                }
                for scale in [Scale::Smoke, Scale::Cpu, Scale::Full] {
                    let recipe = table.recipe_of(row, scale, 0);
                    assert!(recipe.is_ok(), "{}, {}: {recipe:?}", shipped.name, row.name);
                    let recipe = recipe.unwrap();
                    if let Some(parent) = row.from.as_ref().and(table.parent(row)) {
                        let encoder = table.recipe_of(parent, scale, 0).unwrap().encoder;
                        assert_eq!(recipe.encoder, encoder, "{}, {}", shipped.name, row.name);
                    }
                }
            }
        }
    }

    #[test]
    fn the_rows_of_a_figure_say_where_they_are_drawn() {
        for shipped in TABLES {
            let table = shipped.read().unwrap();
            let lines =
                matches!(table.figure, Some(FigureSection::Lines { .. } | FigureSection::Spread { .. }));
            let placed = |row: &crate::reproduce::table::Row| row.series.is_some();
            assert!(!lines || table.row.iter().all(placed), "{}", shipped.name);
            assert_eq!(shipped.name.contains("figure"), table.figure.is_some(), "{}", shipped.name);
        }
    }

    #[test]
    fn a_table_that_is_not_there_names_the_nearest() {
        assert!(ShippedTable::find("cclk-tabel3").unwrap_err().to_string().contains("`cclk-table3`"));
    }
}
