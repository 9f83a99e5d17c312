//! Reads recipes: of files, of runs and of models, with the changes of the command line.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize as _;

use super::culprit::line_of_culprit;
use super::explain::line_of;
use super::fault::Fault;
use super::origin::Origin;
use super::own_names::{Accepted, no_such_name};
use super::reader_error::{ReaderError, with_line};
use super::recipe::Recipe;
use super::set;
use super::shipped::Shipped;
use crate::exit::usage;
use crate::shell::quoted;
use crate::utf8;

/// The changes of the command line to a recipe.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) set: &'a [String],
    /// The variants to keep; all of them if empty.
    pub(crate) variants: &'a [String],
    pub(crate) seed: Option<u64>,
    pub(crate) smoke: bool,
}

impl Recipe {
    /// The recipe of a file, or a shipped one, with the changes of the command line.
    ///
    /// # Errors
    /// A usage error that names the file, the line and the nearest known key; a failure if the file cannot be read.
    pub(crate) fn load(name: &str, changes: &Changes<'_>) -> Result<Self> {
        let (text, origin) = find(name)?;
        let name = Path::new(name).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        Self::from_text(&text, &origin, &name, changes)
    }

    /// The recipe of a text, with the changes of the command line. `name` is that of a recipe without one.
    ///
    /// # Errors
    /// A usage error that names the origin, the line and the nearest known key.
    pub(crate) fn from_text(text: &str, origin: &str, name: &str, changes: &Changes<'_>) -> Result<Self> {
        let mut recipe = Self::parse(text).map_err(|reason| usage(format_args!("{origin}, {reason}")))?;
        if recipe.name.is_empty() {
            name.clone_into(&mut recipe.name);
        }
        // A setting may complete what the text lacks.
        let fault = recipe.check_given().err();
        recipe = recipe.with(changes.set)?;
        recipe.origin = Origin::new(origin, text, changes.set);
        if let Some(fault) = fault
            && recipe.check_given().is_err_and(|now| now.reason == fault.reason)
        {
            return Err(usage(format_args!("{origin}{}", placed(&fault, text))));
        }
        recipe.keep_variants(changes.variants)?;
        if changes.smoke {
            recipe.shrink();
        }
        recipe.train.seed = changes.seed.unwrap_or(recipe.train.seed);
        if i64::try_from(recipe.train.seed).is_err() {
            let seed = recipe.train.seed;
            return Err(usage(format_args!("the seed is {seed}, expected at most {}", i64::MAX)));
        }
        Ok(recipe)
    }

    /// The recipe of a run that was started before.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(crate) fn resolved(text: &str, origin: &Path) -> Result<Self> {
        let recipe = Self::parse(text).map_err(|reason| anyhow::anyhow!("{}, {reason}", origin.display()))?;
        let checked = recipe.check();
        checked.map_err(|fault| anyhow::anyhow!("{}{}", origin.display(), placed(&fault, text)))?;
        Ok(recipe)
    }

    /// The recipe in the metadata of a model, which anyone may have written.
    ///
    /// # Errors
    /// Names the key that is unknown, missing or out of its range.
    pub(crate) fn from_model(document: &serde_json::Value) -> Result<Self, String> {
        let recipe =
            Self::deserialize(document).map_err(|error| ReaderError::of(&error.to_string()).to_string())?;
        recipe.check().map_err(|fault| fault.reason)?;
        Ok(recipe)
    }

    /// The recipe with some keys changed, as `--set` takes them.
    ///
    /// # Errors
    /// A usage error that names the setting.
    pub(crate) fn with(&self, set: &[String]) -> Result<Self> {
        set::apply_all(self.clone(), set)
    }

    /// Refuses the file of a table, which an option names beside the folder of its pictures.
    ///
    /// # Errors
    /// A usage error that says so.
    pub(crate) fn refuse_table(name: &str) -> Result<()> {
        let ending = Path::new(name).extension();
        let is_table =
            ["csv", "tsv"].iter().any(|table| ending.is_some_and(|it| it.eq_ignore_ascii_case(table)));
        match is_table {
            true => Err(usage(format_args!(
                "`{name}` is a table; name its folder, and the table with --csv if there are several"
            ))),
            false => Ok(()),
        }
    }

    /// The recipe of a text, or its error with its line.
    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| with_line(&error, text, |line| line_of_culprit(text, line)))
    }

    /// Drops the variants that are not named, unless none is.
    fn keep_variants(&mut self, names: &[String]) -> Result<()> {
        let known: Vec<String> = self.variants().into_iter().map(|variant| variant.name).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            return Err(usage(format_args!("no variant is named `{name}`; known: {}", known.join(", "))));
        }
        if !names.is_empty() {
            self.written_variants.retain(|variant| names.contains(&variant.name));
        }
        Ok(())
    }
}

/// The reason of an error with the number of its line in `text`, if that can be found.
fn placed(fault: &Fault, text: &str) -> String {
    let Fault { path, reason } = fault;
    let section = (1..=path.len()).rev().find_map(|parts| line_of(text, &path[..parts]));
    let line = section.map(|section| format!(", line {}", line_of_culprit(text, section)));
    format!("{}: {reason}", line.unwrap_or_default())
}

/// The text of a recipe that ships or is in a file, and its origin, as errors name it.
fn find(name: &str) -> Result<(String, String)> {
    if let Some(shipped) = Shipped::find(name) {
        return Ok((shipped.text.to_owned(), format!("recipe `{name}`")));
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(no_such_name(name, Accepted { kinds: "recipe or file", folders: false, data_sets: &[] }));
    }
    if path.is_dir() {
        let named = quoted(name);
        return Err(usage(format_args!("`{name}` is a folder; write its recipe with `simile init {named}`")));
    }
    Recipe::refuse_table(name)?;
    let text =
        fs::read(path).and_then(utf8::text).with_context(|| format!("cannot read the recipe {name}"))?;
    Ok((text, name.to_owned()))
}
