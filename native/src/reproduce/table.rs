//! A published table or figure as it is written in a file.

use std::collections::BTreeMap;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::crossed::{Column, Line, crossed};
use crate::config::explain::explain;
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
    /// Whether its numbers can be held against others; two steps give none that mean anything.
    pub(crate) fn is_comparable(self) -> bool {
        self != Self::Smoke
    }
}

/// A table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// What it shows.
    pub(crate) title: String,
    /// Where it is printed.
    pub(crate) paper: String,
    /// What has to be known to read our numbers beside the published ones.
    pub(crate) notes: String,
    /// What the published budget costs.
    pub(crate) cost: String,
    /// What stands in the way of running it, if something does.
    #[serde(default)]
    pub(crate) missing: Option<String>,
    /// Recipe that the rows start from: one that ships, by name.
    #[serde(default)]
    pub(crate) recipe: Option<String>,
    /// Keys that all rows change, as `--set` does.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Keys that a scale changes besides.
    #[serde(default)]
    pub(crate) scale: BTreeMap<Scale, ScaleSection>,
    /// Another table whose rows this figure draws; title, paper, notes and cost are its own.
    #[serde(default)]
    pub(crate) of: Option<String>,
    /// How the rows are drawn; absent for a table.
    #[serde(default)]
    pub(crate) figure: Option<FigureSection>,
    /// What is measured and how it is printed.
    #[serde(default)]
    pub(crate) metric: Vec<Metric>,
    /// Rows that are written as columns and lines come first among the rows, once read.
    #[serde(default)]
    column: Vec<Column>,
    #[serde(default)]
    line: Vec<Line>,
    #[serde(default)]
    pub(crate) row: Vec<Row>,
}

/// `[scale.cpu]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScaleSection {
    /// What is reduced, in words.
    pub(crate) note: String,
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

/// `[figure]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum FigureSection {
    /// A line for each series over what the rows differ in.
    Lines {
        /// What that is.
        x: String,
    },
    /// Mean and deviation of each series over its rows.
    Spread {
        /// What the rows of a series differ in.
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
    /// What our value is multiplied by to be in the paper's unit. Default: 1.
    #[serde(default = "one")]
    pub(crate) unit: f64,
    /// Digits after the point. Default: 1.
    #[serde(default = "one_digit")]
    pub(crate) digits: usize,
}

/// `[[row]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// A recipe of its own.
    #[serde(default)]
    pub(crate) recipe: Option<String>,
    /// The line of a table or figure that this row is a point of.
    #[serde(default)]
    pub(crate) series: Option<String>,
    /// Where on it.
    #[serde(default)]
    pub(crate) x: Option<String>,
    /// What stands in the way of running this row, if something does.
    #[serde(default)]
    pub(crate) missing: Option<String>,
    /// The row whose trained encoder this one begins with.
    #[serde(default)]
    pub(crate) from: Option<String>,
    /// The row whose trained encoder is the prior that this one conditions on.
    #[serde(default)]
    pub(crate) prior: Option<String>,
    /// Rows of the same block are compared with the first of them; without it, rows of the same `x` are.
    #[serde(default)]
    pub(crate) block: Option<String>,
    /// The arm of the recipe that this row is; its only one if absent.
    #[serde(default)]
    pub(crate) arm: Option<String>,
    /// Keys that this row changes.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Keys that this row changes at the scale `cpu`, after those that the scale changes: they win.
    #[serde(default)]
    pub(crate) cpu: Vec<String>,
    /// The published mean of each metric by name, and the ± where one is printed. None for rows that are ours.
    #[serde(default)]
    pub(crate) published: BTreeMap<String, Vec<f64>>,
}

/// Why a row without a recipe cannot be run, where nobody says more.
pub(crate) const NO_RECIPE: &str = "no recipe is named";

fn one() -> f64 {
    1.0
}

fn one_digit() -> usize {
    1
}

impl Row {
    /// The rows that it is compared with are in the same.
    pub(crate) fn in_block(&self) -> Option<&str> {
        self.block.as_deref().or(self.x.as_deref())
    }

    /// Names of what it is a part of: a column of the table, a line of it.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &str> {
        [&self.block, &self.series].into_iter().flatten().map(String::as_str)
    }
}

impl Table {
    /// Reads a table's file.
    ///
    /// # Errors
    /// Names the line of the file that cannot be read, or the line of the table that lacks a value.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut table: Self = toml::from_str(text).map_err(|error| explain(&error, text))?;
        let rows = crossed(&table.column, &table.line)?;
        table.row.splice(..0, rows);
        Ok(table)
    }

    /// With the rows of the table that the figure is of.
    pub(crate) fn with_rows_of(self, table: Self) -> Self {
        let Self { title, paper, notes, cost, of, figure, .. } = self;
        Self {
            title,
            paper,
            notes,
            cost,
            of,
            figure,
            missing: self.missing.or(table.missing.clone()),
            ..table
        }
    }

    /// Whether rows are trained for it, and not drawn alone.
    pub(crate) fn is_trained(&self) -> bool {
        !matches!(self.figure, Some(FigureSection::Kernels { .. } | FigureSection::Samples { .. }))
    }

    /// Why a row cannot be run, if it cannot.
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
    /// A usage error if the row has no recipe, or its recipe refuses what the row changes.
    pub(crate) fn recipe_of(&self, row: &Row, scale: Scale, seed: u64) -> Result<Recipe> {
        if let Some(missing) = self.missing(row) {
            return Err(usage(format_args!("row `{}` cannot be run: {missing}", row.name)));
        }
        let name = row.recipe.as_deref().or(self.recipe.as_deref()).unwrap_or_default();
        let of_scale = self.scale.get(&scale).map_or(&[][..], |section| &section.set);
        let of_row = if scale == Scale::Cpu { &row.cpu[..] } else { &[] };
        let set: Vec<String> =
            [&self.set, &row.set, of_scale, of_row].into_iter().flatten().cloned().collect();
        let arms: Vec<String> = row.arm.iter().cloned().collect();
        let smoke = scale == Scale::Smoke;
        let mut recipe = Recipe::load(name, &Changes { set: &set, arms: &arms, seed: Some(seed), smoke })?;
        if recipe.arms().len() != 1 {
            return Err(usage(format_args!("row `{}` must name one arm of the recipe `{name}`", row.name)));
        }
        recipe.name = slug(&row.name);
        Ok(recipe)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
}
