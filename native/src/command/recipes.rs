//! `simile recipes`

use anyhow::Result;
use serde::Serialize;

use crate::cli::{Recipes, RecipesAction};
use crate::console::{Console, table};
use crate::exit::usage;
use crate::recipe::explain::suggestion;
use crate::recipe::shipped::{SHIPPED, Shipped};
use crate::reproduce::shipped::{ShippedTable, TABLES};
use crate::reproduce::table::Table;

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
    /// By `simile reproduce`.
    Table {
        name: &'static str,
        title: String,
        paper: String,
        /// What the published budget is.
        cost: String,
        rows: Vec<String>,
        /// Why it cannot be run yet, if it cannot.
        missing: Option<String>,
    },
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
        let mut tables = table(["Table", "What it shows", "Published budget"]);
        for row in &listed {
            match row {
                Listed::Recipe { name, title, .. } => recipes.add_row([*name, *title]),
                Listed::Table { name, title, cost, missing, .. } => {
                    let cost = missing
                        .as_ref()
                        .map_or_else(|| cost.clone(), |missing| format!("missing: {missing}"));
                    tables.add_row([(*name).to_owned(), title.clone(), cost])
                }
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
    let Table { title, paper, cost, missing, row, .. } = shipped.read()?;
    let rows = row.into_iter().map(|row| row.name).collect();
    Ok(Listed::Table { name: shipped.name, title, paper, cost, rows, missing })
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
