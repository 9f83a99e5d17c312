//! Drafts a recipe for a user's own pictures, with settings that fit the contents of the folder and the device.

mod budget;
mod columns;
mod folder;
pub(crate) mod labels;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::config::{Changes, Recipe};
use crate::devices::DeviceSet;
use crate::draft::budget::Budget;
use crate::draft::columns::Column;
use crate::draft::folder::{Contents, Layout};
use crate::exit::usage;
use crate::names::slug;
use crate::run_folder::folder::RECIPE;

/// The wishes of the user for a recipe.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes<'a> {
    /// Columns that the embedding is to hide.
    pub(crate) hide: &'a [String],
    /// Columns that the embedding should keep.
    pub(crate) keep: &'a [String],
    /// The column of the class, where its name does not tell.
    pub(crate) label: Option<&'a str>,
    /// The CSV file in the folder, where there are several.
    pub(crate) csv: Option<&'a Path>,
}

/// A recipe for a folder of pictures.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The folder of the pictures.
    folder: PathBuf,
    /// Name of the recipe: that of the folder.
    pub(crate) name: String,
    contents: Contents,
    /// The columns to hide, and those to keep.
    hide: Vec<Column>,
    keep: Vec<Column>,
    budget: Budget,
    /// The wishes as they are written on the command line.
    wished: String,
}

impl Draft {
    /// The recipe for the pictures in `folder`, with a budget for the devices.
    ///
    /// # Errors
    /// A usage error if the folder holds no pictures, or a column is not there or cannot be told; a failure if a file cannot
    /// be read.
    pub(crate) fn new(folder: &Path, wishes: Wishes<'_>, on_gpu: bool) -> Result<Self> {
        if folder.join(RECIPE).is_file() {
            return Err(usage(format_args!(
                "{} is the folder of a run; go on with it by --resume, or name a folder of pictures",
                folder.display()
            )));
        }
        let contents = Contents::of(folder, wishes)?;
        let hide = contents.columns(folder, wishes.hide)?;
        let keep = contents.columns(folder, wishes.keep)?;
        if let Some(both) = hide.iter().find(|column| keep.iter().any(|other| other.name == column.name)) {
            return Err(usage(format_args!("`{}` is to be hidden and to be kept; choose one", both.name)));
        }
        let budget = Budget::new(&contents, on_gpu);
        let wished = wished(wishes);
        Ok(Self { folder: folder.to_owned(), name: name_of(folder), contents, hide, keep, budget, wished })
    }

    /// The recipe for the pictures in `folder` with all of their attributes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_all(folder: &Path) -> Result<Self> {
        let draft = Self::new(folder, Wishes::default(), false)?;
        let all: Vec<String> = match &draft.contents.layout {
            Layout::Table(table) => table.attributes.iter().map(|column| column.name.clone()).collect(),
            Layout::Folders { .. } => Vec::new(),
        };
        Self::new(folder, Wishes { keep: &all, ..Wishes::default() }, false)
    }

    /// Measures how long a run takes on the devices, and shortens it where that is longer than a newcomer waits. Nothing is
    /// known where no step can be taken; the run then names the reason.
    pub(crate) fn measure(&mut self, devices: &DeviceSet) -> Result<()> {
        let smoke = self.load(&Changes { smoke: true, ..Changes::default() })?;
        self.budget.measure(&smoke, &self.folder, devices);
        Ok(())
    }

    /// The recipe as TOML with comments. `file` is its path, for the commands in them.
    pub(crate) fn text(&self, file: &str) -> String {
        text::text(self, file)
    }

    /// The recipe, with the changes of the command line.
    ///
    /// # Errors
    /// A usage error that names the setting.
    pub(crate) fn load(&self, changes: &Changes<'_>) -> Result<Recipe> {
        let origin = format!("the recipe for {}", self.folder.display());
        Recipe::from_text(&self.text("recipe.toml"), &origin, &self.name, changes)
            .with_context(|| format!("the pictures in {}", self.folder.display()))
    }

    /// The folder's contents, in lines for the user.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Contents { pictures, classes, layout, side, .. } = &self.contents;
        let names = || classes.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>();
        let mut lines = vec![format!(
            "{pictures} pictures of about {side} pixels in {} classes: {}",
            classes.len(),
            some(&names())
        )];
        if let Layout::Table(table) = layout {
            lines.extend(table.attributes.iter().map(|column| format!("{}: {}", column.name, column.kind)));
        }
        lines
    }
}

/// The first of some words.
fn some(words: &[String]) -> String {
    const SHOWN: usize = 8;
    let more =
        if words.len() > SHOWN { format!(", and {} more", words.len() - SHOWN) } else { String::new() };
    words.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}

/// The name of a folder, as a name of files.
fn name_of(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = slug(&whole.file_name().unwrap_or_default().to_string_lossy());
    if name.is_empty() { "pictures".into() } else { name }
}

/// The wishes as arguments.
fn wished(wishes: Wishes<'_>) -> String {
    let Wishes { hide, keep, label, csv } = wishes;
    let of = |flag: &str, value: &str| format!(" --{flag} {}", crate::names::quoted(value));
    let csv = csv.map(|csv| of("csv", &csv.display().to_string()));
    hide.iter()
        .map(|name| of("hide", name))
        .chain(keep.iter().map(|name| of("keep", name)))
        .chain(label.map(|name| of("label", name)))
        .chain(csv)
        .collect()
}
