//! `simile recipes`

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::cli::{Recipes, RecipesAction};
use crate::config::explain::suggestion;
use crate::config::shipped::{SHIPPED, Shipped};
use crate::config::{Changes, Recipe};
use crate::console::{Console, table};
use crate::data::MissingData;
use crate::exit::usage;
use crate::experiment::prepare::required::missing_models;
use crate::reproduce::row::Row;
use crate::reproduce::shipped::{ShippedTable, TABLES};
use crate::reproduce::table::Scale;

/// Something that can be run by name.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Entry {
    /// By `simile train`.
    Recipe {
        name: &'static str,
        title: &'static str,
        /// Paper, command, expected time and result.
        header: String,
        /// The cost of the whole run.
        cost: String,
        #[serde(flatten)]
        contents: RecipeContents,
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
    /// The published budget.
    cost: String,
    /// The command that runs the whole table.
    command: String,
    /// Data sets of its rows, by their names in recipes.
    datasets: Vec<String>,
    rows: Vec<ListedRow>,
    /// The reason why no row can be run yet, if there is one.
    missing: Option<String>,
}

#[derive(Serialize)]
struct ListedRow {
    name: String,
    /// The reason why it cannot be run yet, if there is one.
    missing: Option<String>,
    #[serde(flatten)]
    contents: Option<RecipeContents>,
}

/// The objectives and the data of a recipe.
#[derive(Serialize)]
struct RecipeContents {
    dataset: String,
    /// Names of the objectives, one for each variant.
    objectives: Vec<String>,
    /// The presence of the data in the folder of `--data`.
    data: Presence,
    /// The missing data and weights, with the commands that get or make them.
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Presence {
    /// The images are generated, so that no files are needed.
    NoneNeeded,
    Present,
    /// Another number of pictures than the authors state.
    #[serde(rename = "a-part")]
    OtherCount,
    Absent,
    /// `--data` was not given.
    NotLookedFor,
}

#[derive(Serialize)]
struct One {
    name: &'static str,
    toml: &'static str,
}

pub(super) fn run(arguments: &Recipes, console: Console) -> Result<()> {
    match &arguments.action {
        None => list(arguments.data.as_deref(), console),
        Some(RecipesAction::Show { name }) => show(name, console),
    }
}

fn list(folder: Option<&Path>, console: Console) -> Result<()> {
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(usage(format_args!("{} is not a folder", folder.display())));
    }
    let mut data = MissingData::in_folder(folder);
    let mut listed = SHIPPED.iter().map(|shipped| recipe(shipped, &mut data)).collect::<Result<Vec<_>>>()?;
    for table in TABLES {
        listed.push(published(table, &mut data)?);
    }
    console.answer(&listed, || {
        let mut recipes = table(["Recipe", "What it does", "Objectives", "Data"]);
        let mut tables = table(["Table or figure", "What it shows", "Published budget", "Data"]);
        for row in &listed {
            match row {
                Entry::Recipe { name, title, contents, .. } => recipes.add_row([
                    (*name).to_owned(),
                    (*title).to_owned(),
                    contents.objectives.join(", "),
                    contents.data.of(&contents.dataset),
                ]),
                Entry::Table(published) | Entry::Figure(published) => tables.add_row(published.cells()),
            };
        }
        let place = match folder {
            Some(folder) => format!("Data are looked for in {}.", folder.display()),
            None => "`simile recipes --data DIR` says which data are in a folder.".to_owned(),
        };
        format!(
            "{recipes}\n`simile recipes show NAME` prints one; `simile train NAME` runs it.\n\n{tables}\n\
             `simile reproduce TABLE` runs the rows of one and prints our numbers beside the published ones.\n{place}"
        )
    })
}

fn recipe(shipped: &Shipped, data: &mut MissingData<'_>) -> Result<Entry> {
    let header = shipped.header().collect::<Vec<_>>().join("\n");
    let recipe = Recipe::load(shipped.name, &Changes::default())?;
    Ok(Entry::Recipe {
        name: shipped.name,
        title: shipped.title(),
        header,
        cost: shipped.says("Time"),
        contents: RecipeContents::of(&recipe, data),
    })
}

fn published(shipped: &ShippedTable, data: &mut MissingData<'_>) -> Result<Entry> {
    let table = shipped.read()?;
    let mut listed = |row: &Row| -> Result<ListedRow> {
        let missing = table.missing(row).map(str::to_owned);
        let contents = match missing {
            None => Some(RecipeContents::of(&table.recipe_of(row, Scale::Full, 0)?, data)),
            Some(_) => None,
        };
        Ok(ListedRow { name: row.name.clone(), missing, contents })
    };
    let rows = table.row.iter().map(&mut listed).collect::<Result<Vec<ListedRow>>>()?;
    let reasons: Vec<&String> = rows.iter().filter_map(|row| row.missing.as_ref()).collect();
    let missing =
        (reasons.len() == rows.len()).then(|| reasons.first().map(|&reason| reason.clone())).flatten();
    let contents = rows.iter().filter_map(|row| row.contents.as_ref());
    let datasets: BTreeSet<String> = contents.map(|contents| contents.dataset.clone()).collect();
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
    Ok(if figure { Entry::Figure(published) } else { Entry::Table(published) })
}

impl RecipeContents {
    fn of(recipe: &Recipe, data: &mut MissingData<'_>) -> Self {
        let section = &recipe.data;
        let missing = data.of(section);
        let presence = match missing {
            _ if section.dataset.is_drawn() => Presence::NoneNeeded,
            _ if data.folder().is_none() => Presence::NotLookedFor,
            None if data.is_part(section) => Presence::OtherCount,
            None => Presence::Present,
            Some(_) => Presence::Absent,
        };
        let lacks = missing.filter(|_| presence == Presence::Absent);
        Self {
            dataset: section.dataset.name().to_owned(),
            objectives: recipe.variants().into_iter().map(|variant| variant.objective.name).collect(),
            data: presence,
            lacks: lacks.or_else(|| missing_models(recipe)),
        }
    }
}

impl Presence {
    /// The text of a cell: a data set and its presence.
    fn of(self, dataset: &str) -> String {
        match self {
            Self::NoneNeeded => format!("{dataset}: drawn"),
            Self::Present => format!("{dataset}: present"),
            Self::OtherCount => format!("{dataset}: another number of pictures"),
            Self::Absent => format!("{dataset}: absent"),
            Self::NotLookedFor => dataset.to_owned(),
        }
    }
}

impl Published {
    /// Name, title, cost or missing parts, and data.
    fn cells(&self) -> [String; 4] {
        let missing_rows = self.rows.iter().filter(|row| row.missing.is_some()).count();
        let cost = match (&self.missing, missing_rows) {
            (Some(missing), _) => format!("missing: {missing}"),
            (None, 0) => self.cost.clone(),
            (None, missing_rows) => {
                format!("{}; {missing_rows} of {} rows are missing", self.cost, self.rows.len())
            }
        };
        let rows = || self.rows.iter().filter_map(|row| row.contents.as_ref());
        let mut data: Vec<String> = Vec::new();
        for cell in rows().map(|contents| contents.data.of(&contents.dataset)) {
            if !data.contains(&cell) {
                data.push(cell);
            }
        }
        [self.name.to_owned(), self.title.clone(), cost, data.join(", ")]
    }
}

fn show(name: &str, console: Console) -> Result<()> {
    let recipe = Shipped::find(name).map(|recipe| One { name: recipe.name, toml: recipe.text });
    let table = || TABLES.iter().find(|table| table.name == name);
    let shipped = recipe.or_else(|| table().map(|table| One { name: table.name, toml: table.text }));
    let Some(shipped) = shipped else {
        refuse_other_kind(name, &[ShippedKind::Recipe, ShippedKind::Table])?;
        let recipes = SHIPPED.iter().map(|recipe| recipe.name);
        let known = recipes.chain(TABLES.iter().map(|table| table.name));
        return Err(usage(format_args!("nothing is named `{name}`{}", suggestion(name, known))));
    };
    console.answer(&shipped, || shipped.toml.to_owned())
}
