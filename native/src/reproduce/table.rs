//! The file of a published table or figure.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::crossed::{ColumnSection, LineSection, crossed};
use super::row::Row;
use crate::config::reader_error::with_line;
use crate::config::{Changes, Recipe};
use crate::exit::usage;
use crate::names::slug;

/// How much of the published budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scale {
    /// A few short steps, to see that it works
    Smoke,
    /// A stated reduction for two processor cores
    Cpu,
    /// As published
    Full,
}

impl Scale {
    /// True if its numbers can be compared with others; those of a few steps mean nothing.
    pub(crate) fn is_comparable(self) -> bool {
        self != Self::Smoke
    }
}

/// A table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// The title of the table.
    pub(crate) title: String,
    /// The place of publication.
    pub(crate) paper: String,
    /// Notes for comparing our numbers with the published ones.
    pub(crate) notes: String,
    /// The cost of the published budget.
    pub(crate) cost: String,
    /// The reason why it cannot be run, if there is one.
    #[serde(default)]
    pub(crate) missing: Option<String>,
    /// The base recipe of the rows: a shipped one, by name.
    #[serde(default)]
    pub(crate) recipe: Option<String>,
    /// Keys that all rows change, as `--set` does.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Keys that a scale changes besides.
    #[serde(default)]
    pub(crate) scale: BTreeMap<Scale, ScaleSection>,
    /// Another table whose rows this figure draws; the figure has its own title, paper, notes and cost.
    #[serde(default)]
    pub(crate) of: Option<String>,
    /// The block of that table whose rows alone this figure draws; all rows if absent.
    #[serde(default)]
    block: Option<String>,
    /// The figure for the rows; absent for a table.
    #[serde(default)]
    pub(crate) figure: Option<FigureSection>,
    /// The metrics, with their format.
    #[serde(default)]
    pub(crate) metric: Vec<Metric>,
    /// Columns; after parsing, the rows of columns and lines come first among the rows.
    #[serde(default)]
    column: Vec<ColumnSection>,
    #[serde(default)]
    line: Vec<LineSection>,
    #[serde(default)]
    pub(crate) row: Vec<Row>,
}

/// `[scale.cpu]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScaleSection {
    /// The reduction, in words.
    pub(crate) note: String,
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

/// `[figure]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum FigureSection {
    /// A line for each series over the values in which the rows differ.
    Lines {
        /// The name of that axis.
        x: String,
    },
    /// Mean and deviation of each series over its rows.
    Spread {
        /// The variable in which the rows of a series differ.
        over: String,
    },
    /// For each row `K` beside `(K + λI)⁻¹K`, of so many samples. Nothing is trained.
    Kernels { batch: usize },
    /// So many images of each row's data. Nothing is trained.
    Samples { count: usize },
    /// For each row its accuracy on held-out images over the iterations, in percent.
    Evaluations,
    /// For each row the map of its embeddings by t-SNE.
    Maps,
    /// For each row the nearest and the hardest negatives of some images.
    Negatives,
}

/// `[[metric]]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metric {
    /// Its key in `result.json`.
    pub(crate) name: String,
    /// The head of its column.
    pub(crate) title: String,
    /// The factor from our value to the paper's unit. Default: 1.
    #[serde(default = "one")]
    pub(crate) unit: f64,
    /// Digits after the point. Default: 1.
    #[serde(default = "one_digit")]
    pub(crate) digits: usize,
}

/// The default reason why a row without a recipe cannot be run.
pub(crate) const NO_RECIPE: &str = "no recipe is named";

fn one() -> f64 {
    1.0
}

fn one_digit() -> usize {
    1
}

impl Table {
    /// Reads a table's file.
    ///
    /// # Errors
    /// Names the line of the file that cannot be read, or the line of the table that lacks a value.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut table: Self = toml::from_str(text).map_err(|error| with_line(&error, text, |line| line))?;
        let rows = crossed(&table.column, &table.line)?;
        table.row.splice(..0, rows);
        Ok(table)
    }

    /// The figure with the rows of its table.
    pub(crate) fn with_rows_of(self, table: Self) -> Self {
        let Self { title, paper, notes, cost, of, block, figure, .. } = self;
        let is_drawn = |row: &Row| block.is_none() || row.block == block;
        Self {
            title,
            paper,
            notes,
            cost,
            of,
            figure,
            missing: self.missing.or(table.missing.clone()),
            row: table.row.iter().filter(|row| is_drawn(row)).cloned().collect(),
            ..table
        }
    }

    /// True if its rows are trained, and not only drawn.
    pub(crate) fn is_trained(&self) -> bool {
        !matches!(self.figure, Some(FigureSection::Kernels { .. } | FigureSection::Samples { .. }))
    }

    /// The reason why a row cannot be run, if there is one.
    pub(crate) fn missing<'a>(&'a self, row: &'a Row) -> Option<&'a str> {
        if self.of.is_some() && self.missing.is_some() {
            return self.missing.as_deref();
        }
        let without_recipe = row.recipe.is_none() && self.recipe.is_none();
        let of_table = || without_recipe.then(|| self.missing.as_deref().unwrap_or(NO_RECIPE));
        let of_parent = || self.parent(row).and_then(|parent| self.missing(parent));
        row.missing.as_deref().or_else(of_table).or_else(of_parent)
    }

    /// The row whose encoder another one needs.
    pub(crate) fn parent(&self, row: &Row) -> Option<&Row> {
        self.named(row.from.as_ref().or(row.prior.as_ref())?)
    }

    /// The rows that must be run for `row`, it last.
    pub(crate) fn lineage<'a>(&'a self, row: &'a Row) -> Vec<&'a Row> {
        let back = std::iter::successors(Some(row), |row| self.parent(row)).take(self.row.len());
        let mut rows: Vec<&Row> = back.collect();
        rows.reverse();
        rows
    }

    fn named(&self, name: &str) -> Option<&Row> {
        self.row.iter().find(|row| row.name == name)
    }

    /// The recipe of a row at a scale, for one seed.
    ///
    /// # Errors
    /// A usage error if the row has no recipe, or its recipe refuses a change of the row.
    pub(crate) fn recipe_of(&self, row: &Row, scale: Scale, seed: u64) -> Result<Recipe> {
        if let Some(missing) = self.missing(row) {
            return Err(usage(format_args!("row `{}` cannot be run: {missing}", row.name)));
        }
        let name = row.recipe.as_deref().or(self.recipe.as_deref()).unwrap_or_default();
        let scale_set = self.scale.get(&scale).map_or(&[][..], |section| &section.set);
        let row_set = if scale == Scale::Cpu { &row.cpu[..] } else { &[] };
        let set: Vec<String> =
            [&self.set, &row.set, scale_set, row_set].into_iter().flatten().cloned().collect();
        let variants: Vec<String> = row.variant.iter().cloned().collect();
        let smoke = scale == Scale::Smoke;
        let mut recipe =
            Recipe::load(name, &Changes { set: &set, variants: &variants, seed: Some(seed), smoke })?;
        if recipe.variants().len() != 1 {
            return Err(usage(format_args!(
                "row `{}` must name one variant of the recipe `{name}`",
                row.name
            )));
        }
        recipe.name = slug(&row.name);
        Ok(recipe)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::keys::values::Fit;
    use crate::reproduce::shipped::ShippedTable;

    #[test]
    fn what_a_row_says_of_the_small_scale_wins_over_the_scale() {
        let text = r#"
            title = ""
            paper = ""
            notes = ""
            cost = ""
            recipe = "cifar-10"

            [scale.cpu]
            note = ""
            set = ["train.iterations=100", "train.batch=32"]

            [[row]]
            name = "as the scale"
            set = ["train.iterations=7000"]

            [[row]]
            name = "longer"
            set = ["train.iterations=7000"]
            cpu = ["train.iterations=140"]
        "#;
        let table = Table::parse(text).unwrap();
        let of = |scale| {
            let of = |row| {
                table.recipe_of(row, scale, 0).map(|recipe| (recipe.train.iterations, recipe.train.batch))
            };
            [of(&table.row[0]).unwrap(), of(&table.row[1]).unwrap()]
        };
        assert_eq!(of(Scale::Cpu), [(100, 32), (140, 32)]);
        assert_eq!(of(Scale::Full).map(|(iterations, _)| iterations), [7000, 7000]);
    }

    /// The recipes of a table's rows that can run, by their names.
    fn recipes(name: &str) -> Vec<(String, Recipe)> {
        let table = ShippedTable::find(name).unwrap().read().unwrap();
        let rows = table.row.iter().filter(|row| table.missing(row).is_none());
        rows.map(|row| (row.name.clone(), table.recipe_of(row, Scale::Full, 0).unwrap())).collect()
    }

    #[test]
    fn the_ridges_of_decoupled_uniformity_are_those_of_its_released_weight_decays_or_inverse_strengths() {
        let halves = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|decay| decay / 2.0);
        // Logistic regression of fewer than 20,000 images, of 5,994 here, for C from 0.1 to 1e6.
        let of_few = [1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6].map(|c| 1.0 / (2.0 * c * 5994.0));
        for name in ["du-table1", "du-table3", "du-table4", "du-table5"] {
            for (row, recipe) in recipes(name) {
                let released = if row.ends_with("CUB") { &of_few[..] } else { &halves };
                let ridges = recipe.probe.ridge.all().to_vec();
                assert_eq!(ridges.len(), released.len(), "{name}, {row}");
                assert!(
                    ridges.iter().zip(released).all(|(a, b)| (a / b - 1.0).abs() < 1e-3),
                    "{name}, {row}"
                );
            }
        }
    }

    #[test]
    fn a_figure_of_a_block_draws_its_rows_alone() {
        for name in ["difficulty-figure-tsne", "difficulty-figure-negatives"] {
            let rows = ShippedTable::find(name).unwrap().read().unwrap().row;
            assert!(rows.len() == 8 && rows.iter().all(|row| !row.name.contains("CIFAR-100")), "{name}");
        }
        let whole = ShippedTable::find("contex-figure7").unwrap().read().unwrap();
        assert_eq!(whole.row.len(), ShippedTable::find("contex-table9").unwrap().read().unwrap().row.len());
    }

    #[test]
    fn waterbirds_trains_on_crops_of_whole_pictures_and_is_judged_on_squeezed_ones() {
        for (row, recipe) in recipes("difficulty-table2") {
            let fit = match row.as_str() {
                "Waterbirds, JTT" => Fit::Whole,
                _ if row.starts_with("Waterbirds") => Fit::Crops,
                _ => continue,
            };
            assert_eq!(recipe.data.fit, fit, "{row}");
        }
    }
}
