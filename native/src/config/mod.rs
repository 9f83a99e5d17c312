//! A recipe: everything that decides a run, in one TOML file.

mod check;
mod culprit;
pub(crate) mod difference;
pub(crate) mod encoder;
pub(crate) mod explain;
pub(crate) mod key_path;
pub(crate) mod keys;
mod known_keys;
pub(crate) mod meanings;
pub(crate) mod measured;
mod numbers;
pub(crate) mod objective;
mod origin;
pub(crate) mod penalty;
pub(crate) mod probe;
pub(crate) mod schema;
pub(crate) mod sections;
pub(crate) mod selection;
pub(crate) mod set;
pub(crate) mod shipped;
pub(crate) mod smoke;
pub(crate) mod variant;
pub(crate) mod views;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::augment::{Augmentation, Normalisation};
use simile_core::optim::OptimizerConfig;
use simile_core::optim::schedule::Schedule;

use self::culprit::line_of_culprit;
use self::encoder::EncoderSection;
use self::explain::{explain, line_of, reword, suggestion};
use self::objective::ObjectiveSection;
use self::origin::Origin;
use self::probe::ProbeSection;
use self::sections::{ClassifiedSection, HeadSection, TrainSection};
use self::selection::SelectionSection;
use self::shipped::{SHIPPED, Shipped};
use self::smoke::SmokeSection;
use self::variant::{RecipeVariant, VariantSection};
use self::views::normalisation;
use crate::data::DataSection;
use crate::exit::usage;
use crate::shell::quoted;
use crate::utf8;

/// The key of the variants that a recipe compares, each a [`VariantSection`], and the one that it had.
pub(crate) const VARIANTS: &str = "variant";
pub(crate) const FORMER_VARIANTS: &str = "arm";

/// Everything that decides a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// Name of the run folder; the file's name if absent.
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) data: DataSection,
    #[serde(default)]
    pub(crate) encoder: EncoderSection,
    #[serde(default)]
    pub(crate) head: HeadSection,
    #[serde(default, deserialize_with = "views::deserialize")]
    pub(crate) augment: Augmentation,
    /// The images whose classes are learned; absent if these are the views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classified: Option<ClassifiedSection>,
    /// The objective to minimise; absent if the variants define theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) objective: Option<ObjectiveSection>,
    /// The training algorithm, with its networks and memory beside the encoder; a variant can have its own.
    #[serde(default, rename = "method")]
    pub(crate) algorithm: AlgorithmConfig,
    #[serde(default)]
    pub(crate) optimizer: OptimizerConfig,
    #[serde(default)]
    pub(crate) schedule: Schedule,
    pub(crate) train: TrainSection,
    /// The selection of the encoder; absent if the last one is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) selection: Option<SelectionSection>,
    #[serde(default)]
    pub(crate) probe: ProbeSection,
    /// Objectives to compare, trained one after the other from the same initial weights.
    #[serde(default, rename = "variant", alias = "arm", skip_serializing_if = "Vec::is_empty")]
    pub(crate) written_variants: Vec<VariantSection>,
    /// The mark of a smoke test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) smoke: Option<SmokeSection>,
    /// The places of its keys.
    #[serde(skip)]
    pub(crate) origin: Origin,
}

/// The changes of the command line to a recipe.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    pub(crate) set: &'a [String],
    /// The variants to keep; all of them if empty.
    pub(crate) variants: &'a [String],
    pub(crate) seed: Option<u64>,
    pub(crate) smoke: bool,
}

/// An error in a recipe that is valid TOML.
#[derive(Debug)]
struct Fault {
    /// The path of its key, or of the section; a variant is named by its name.
    path: Vec<String>,
    reason: String,
}

impl Fault {
    /// An error of a key in a section, or without a key of the section.
    fn new(section: &str, key: &str, reason: impl Into<String>) -> Self {
        let path = [section, key].into_iter().filter(|part| !part.is_empty());
        Self { path: path.map(str::to_owned).collect(), reason: reason.into() }
    }

    /// The reason with the number of its line in `text`, if that can be found.
    fn placed(&self, text: &str) -> String {
        let place = (1..=self.path.len()).rev().find_map(|parts| line_of(text, &self.path[..parts]));
        let line = place.map(|section| format!(", line {}", line_of_culprit(text, section)));
        format!("{}: {}", line.unwrap_or_default(), self.reason)
    }
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
            return Err(usage(format_args!("{origin}{}", fault.placed(text))));
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
        checked.map_err(|fault| anyhow::anyhow!("{}{}", origin.display(), fault.placed(text)))?;
        Ok(recipe)
    }

    /// The recipe in the metadata of a model, which anyone may have written.
    ///
    /// # Errors
    /// Names the key that is unknown, missing or out of its range.
    pub(crate) fn from_model(document: &serde_json::Value) -> Result<Self, String> {
        let recipe = Self::deserialize(document).map_err(|error| reword(&error.to_string()))?;
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

    /// The variants to train; the recipe's objective alone is one.
    pub(crate) fn variants(&self) -> Vec<RecipeVariant> {
        match &self.objective {
            Some(objective) if self.written_variants.is_empty() => vec![RecipeVariant {
                name: objective.name.clone(),
                objective: objective.clone(),
                algorithm: self.algorithm.clone(),
            }],
            _ => {
                self.written_variants.iter().map(|variant| variant.with_algorithm(&self.algorithm)).collect()
            }
        }
    }

    /// The recipe as serialised to the run folder: every default filled in.
    ///
    /// # Errors
    /// If it cannot be written as TOML.
    pub(crate) fn to_toml(&self) -> Result<String> {
        toml::to_string(self).context("writing the recipe")
    }

    /// The normalisation of the encoder's images.
    ///
    /// # Errors
    /// The name is unknown, or there is not one constant a channel.
    pub(crate) fn normalisation(&self) -> Result<Normalisation, String> {
        normalisation(self.data.normalise.as_ref(), self.encoder.config.channels)
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| explain(&error, text, |line| line_of_culprit(text, line)))
    }

    fn from_table(table: toml::Table) -> Result<Self, String> {
        table.try_into().map_err(|error: toml::de::Error| reword(error.message()))
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

fn find(name: &str) -> Result<(String, String)> {
    if let Some(shipped) = Shipped::find(name) {
        return Ok((shipped.text.to_owned(), format!("recipe `{name}`")));
    }
    let path = Path::new(name);
    if !path.exists() {
        let known: Vec<&str> = SHIPPED.iter().map(|recipe| recipe.name).collect();
        return Err(usage(format_args!(
            "no recipe ships as `{name}` and no file has that name{}",
            suggestion(name, &known)
        )));
    }
    if path.is_dir() {
        let named = quoted(name);
        return Err(usage(format_args!("`{name}` is a folder; write its recipe with `simile init {named}`")));
    }
    if path
        .extension()
        .is_some_and(|ending| ["csv", "tsv"].iter().any(|table| ending.eq_ignore_ascii_case(table)))
    {
        return Err(usage(format_args!(
            "`{name}` is a table; name its folder, and the table with --csv if there are several"
        )));
    }
    let text =
        fs::read(path).and_then(utf8::text).with_context(|| format!("cannot read the recipe {name}"))?;
    Ok((text, name.to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing {
    use super::{Changes, Recipe};

    /// A recipe of so many iterations.
    pub(crate) fn with_iterations(iterations: usize) -> Recipe {
        let mut recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        recipe.train.iterations = iterations;
        recipe
    }
}
#[cfg(test)]
mod tests;
