//! Arguments of the commands that list objectives, keys, recipes and devices.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// List the objectives and what each learns from, or print the page of one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile objectives
  simile objectives --have attribute           to hide or to use an attribute
  simile objectives fair-cclk                  its formula, inputs and parameters")]
pub(crate) struct Objectives {
    /// Print formula, inputs, parameters and forms of this one
    pub(crate) name: Option<String>,
    /// Only those that need no more than this (repeatable)
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "name")]
    pub(crate) have: Vec<Have>,
}

/// Annotations that a user has beside pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Have {
    /// Nothing but the pictures
    Nothing,
    /// A class for each picture
    Labels,
    /// A label of the bias for each picture
    Bias,
    /// An attribute to hide or to use
    Attribute,
}

/// List the keys of recipes and what they do, or write their JSON schema
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile keys
  simile keys train                            those of one section
  simile keys --schema > recipe.schema.json    for taplo and VS Code: `#:schema recipe.schema.json` in a recipe")]
pub(crate) struct Keys {
    /// Only the keys of this section, such as `train` or `augment.crop`
    #[arg(value_name = "SECTION", conflicts_with = "schema")]
    pub(crate) section: Option<String>,
    /// Write a JSON schema of recipes
    #[arg(long)]
    pub(crate) schema: bool,
}

/// List the recipes that ship, or print one
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  simile recipes
  simile recipes --data ./data                 says which of their data sets are in that folder
  simile recipes show fair-digits > mine.toml"
)]
pub(crate) struct Recipes {
    /// Folder of data sets, such as `simile data fetch --data DIR` fills; says which recipes' data are there
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: Option<RecipesAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecipesAction {
    /// Print a recipe, a start for one of your own, or the rows of a table
    #[command(after_help = "Examples:
  simile recipes show fair-digits > mine.toml
  simile recipes show cclk-table3")]
    Show {
        /// Its name
        name: String,
    },
}

/// List the devices that are built in and those that are present
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile devices
  simile devices --check                       does each give the results of the CPU?
  simile devices --json | jq '.devices[].name'")]
pub(crate) struct ListDevices {
    /// Test every device that is present, software adapters too, each in a process of its own: sums, a product of matrices
    /// and two training steps of a small network
    #[arg(long)]
    pub(crate) check: bool,
}
