//! `simile recipes`

use anyhow::Result;
use serde::Serialize;

use crate::cli::{Recipes, RecipesAction};
use crate::console::{Console, table};
use crate::exit::usage;
use crate::recipe::explain::suggestion;
use crate::recipe::shipped::{SHIPPED, Shipped};

#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: &'static str,
    /// Paper, command, expected time and result.
    header: String,
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
    let rows = SHIPPED.map(|recipe| Row {
        name: recipe.name,
        title: recipe.title(),
        header: recipe.header().collect::<Vec<_>>().join("\n"),
    });
    console.answer(&rows, || {
        let mut table = table(["Recipe", "What it does"]);
        for row in &rows {
            table.add_row([row.name, row.title]);
        }
        format!("{table}\n`simile recipes show NAME` prints one; `simile train NAME` runs it.")
    })
}

fn show(name: &str, console: Console) -> Result<()> {
    let known = SHIPPED.map(|recipe| recipe.name);
    let recipe = Shipped::find(name)
        .ok_or_else(|| usage(format_args!("no recipe is named `{name}`{}", suggestion(name, &known))))?;
    console.answer(&One { name: recipe.name, toml: recipe.text }, || recipe.text.to_owned())
}
