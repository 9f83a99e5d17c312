//! `simile recipes`

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use crate::cli::{Recipes, RecipesAction};
use crate::console::{Console, table};
use crate::exit::usage;
use crate::recipe::explain::suggestion;
use crate::recipe::shipped::{SHIPPED, Shipped};
use crate::reproduce::shipped::{ShippedTable, TABLES};
use crate::reproduce::table::{Row, Scale};

/// Something that can be run by name.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Listed {
    /// By `simile train`.
    Recipe {
        name: &'static str,
        title: &'static str,
        /// Paper, command, expected time and result.
        header: String,
    },
    /// A table, by `simile reproduce`.
    Table(Published),
    /// A figure, likewise.
    Figure(Published),
}

#[derive(Serialize)]
struct Published {
    name: &'static str,
    title: String,
    paper: String,
    /// What the published budget is.
    cost: String,
    /// What runs, or would run, all of it.
    command: String,
    /// Data sets of its rows, by the names that recipes give them.
    datasets: Vec<String>,
    rows: Vec<ListedRow>,
    /// Why nothing of it can be run yet, if so.
    missing: Option<String>,
}

#[derive(Serialize)]
struct ListedRow {
    name: String,
    /// Why it cannot be run yet, if so.
    missing: Option<String>,
}

#[derive(Serialize)]
struct One {
    name: &'static str,
    toml: &'static str,
}

pub(super) fn run(arguments: &Recipes, console: Console) -> Result<()> {
    match &arguments.action {
        None => list(console),
        Some(RecipesAction::Show { name }) => show(name, console),
    }
}

fn list(console: Console) -> Result<()> {
    let mut listed: Vec<Listed> = SHIPPED.iter().map(recipe).collect();
    listed.extend(TABLES.iter().map(published).collect::<Result<Vec<_>>>()?);
    console.answer(&listed, || {
        let mut recipes = table(["Recipe", "What it does"]);
        let mut tables = table(["Table or figure", "What it shows", "Published budget"]);
        for row in &listed {
            match row {
                Listed::Recipe { name, title, .. } => recipes.add_row([*name, *title]),
                Listed::Table(published) | Listed::Figure(published) => tables.add_row(published.cells()),
            };
        }
        format!(
            "{recipes}\n`simile recipes show NAME` prints one; `simile train NAME` runs it.\n\n{tables}\n\
             `simile reproduce TABLE` runs the rows of one and prints our numbers beside the published ones."
        )
    })
}

fn recipe(recipe: &Shipped) -> Listed {
    let header = recipe.header().collect::<Vec<_>>().join("\n");
    Listed::Recipe { name: recipe.name, title: recipe.title(), header }
}

fn published(shipped: &ShippedTable) -> Result<Listed> {
    let table = shipped.read()?;
    let listed =
        |row: &Row| ListedRow { name: row.name.clone(), missing: table.missing(row).map(str::to_owned) };
    let rows: Vec<ListedRow> = table.row.iter().map(listed).collect();
    let reasons: Vec<&String> = rows.iter().filter_map(|row| row.missing.as_ref()).collect();
    let missing =
        (reasons.len() == rows.len()).then(|| reasons.first().map(|&reason| reason.clone())).flatten();
    let dataset = |row: &Row| -> Result<String> {
        let name = table.recipe_of(row, Scale::Full, 0)?.data.dataset;
        Ok(serde_json::to_value(name)?.as_str().unwrap_or_default().to_owned())
    };
    let runs = table.row.iter().filter(|row| table.missing(row).is_none());
    let datasets = runs.map(dataset).collect::<Result<BTreeSet<String>>>()?;
    let figure = table.figure.is_some();
    let published = Published {
        name: shipped.name,
        command: shipped.full_command(),
        datasets: datasets.into_iter().collect(),
        rows,
        missing,
        title: table.title,
        paper: table.paper,
        cost: table.cost,
    };
    Ok(if figure { Listed::Figure(published) } else { Listed::Table(published) })
}

impl Published {
    /// Name, title, and what it costs or lacks.
    fn cells(&self) -> [String; 3] {
        let lacking = self.rows.iter().filter(|row| row.missing.is_some()).count();
        let cost = match (&self.missing, lacking) {
            (Some(missing), _) => format!("missing: {missing}"),
            (None, 0) => self.cost.clone(),
            (None, lacking) => format!("{}; {lacking} of {} rows are missing", self.cost, self.rows.len()),
        };
        [self.name.to_owned(), self.title.clone(), cost]
    }
}

fn show(name: &str, console: Console) -> Result<()> {
    let recipe = Shipped::find(name).map(|recipe| One { name: recipe.name, toml: recipe.text });
    let table = || TABLES.iter().find(|table| table.name == name);
    let found = recipe.or_else(|| table().map(|table| One { name: table.name, toml: table.text }));
    let Some(found) = found else {
        let recipes = SHIPPED.iter().map(|recipe| recipe.name);
        let known: Vec<&str> = recipes.chain(TABLES.iter().map(|table| table.name)).collect();
        return Err(usage(format_args!("nothing is named `{name}`{}", suggestion(name, &known))));
    };
    console.answer(&found, || found.toml.to_owned())
}
