//! The syntax of the command line. The module `commands` runs it.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::devices::{ChoiceParser, DeviceChoice, SELF_TEST};

mod data;
mod model;
mod own_pictures;
mod several;
mod shard;

pub(crate) use data::{Data, DataCheck, DataFetch, DataList, DataMeasure, DataPreview};
pub(crate) use model::{Embed, Evaluate, Export, Import, Loss, Precision, Target};
pub(crate) use own_pictures::{Init, OwnPictures};
pub(crate) use several::{Reproduce, Runs, Sweep};
pub(crate) use shard::Shard;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Train image encoders that hide or use an attribute, and measure how well it can still be predicted.
#[derive(Debug, Parser)]
#[command(
    name = "simile",
    version,
    styles = STYLES,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Examples:
  simile train fair-digits                     needs no download
  simile train scans --hide hospital           your own folder of pictures
  simile train colour-mnist --data ./mnist     the four official idx files, plain or .gz
  simile report runs/fair-digits
  simile embed runs/fair-digits photo.png --out photo.npy

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted (after a checkpoint;
143 by SIGTERM, 129 by SIGHUP)."
)]
pub(crate) struct Cli {
    /// Print the answer as one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(Init),
    Train(Train),
    Evaluate(Evaluate),
    Embed(Embed),
    Import(Import),
    Export(Export),
    Loss(Loss),
    #[command(subcommand)]
    Data(Data),
    Recipes(Recipes),
    Objectives(Objectives),
    Keys(Keys),
    Devices(ListDevices),
    /// Test one device, for the process that `--device auto` and `simile devices --check` start for it
    #[command(name = SELF_TEST, hide = true)]
    SelfTest(SelfTest),
    Report(Report),
    Reproduce(Reproduce),
    Sweep(Sweep),
    Completions(Completions),
}

/// Train the encoders of a recipe, probe each, and write a run folder
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile train fair-digits
  simile train scans --hide hospital           a folder of your own pictures; `simile init` writes its recipe
  simile train fair-digits --seeds 5           five runs, compared
  simile train colour-mnist --data ./mnist --seed 1 --out runs/seed-1
  simile train fair-digits --variant Fair-CCLK --set train.iterations=300
  simile train my-recipe.toml --smoke          two short steps through everything
  simile train fair-digits --profile           the time of each stage of a step, instead of training
  simile train cifar-10 --data ./cifar --set 'method={ name = \"cached\", chunk = 128 }' --device cuda:0,cuda:1
  simile train --resume runs/fair-digits       after Ctrl-C, a signal or a crash
  simile train --resume runs/fair-digits --set train.iterations=2000      longer than planned

The run folder holds recipe.toml (resolved), metrics.jsonl, model.safetensors, result.json,
report.html, tensorboard/, and state/ to resume from, also when it has finished. `simile recipes`
lists the recipes that ship.")]
pub(crate) struct Train {
    /// A TOML file, the name of a recipe that ships (`simile recipes`), or a folder of your own pictures
    #[arg(value_name = "RECIPE|DIR", required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) recipe: Option<String>,
    /// Folder of the data set's files
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) own: OwnPictures,
    #[command(flatten)]
    pub(crate) devices: Devices,
    /// The run folder; must be new or empty [default: runs/NAME, or runs/NAME-2, ... if that is taken]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of initial weights, order, augmentation and generated data
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub(crate) seed: Option<u64>,
    /// Train with N seeds, this one and the next, into a folder each, and judge all of them together; the same command
    /// resumes after an interruption [default folder: runs/NAME-seeds]
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "profile"],
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: Option<u64>,
    /// Change a key of the recipe, such as `optimizer.learning_rate=0.01` (repeatable); with --resume, more
    /// `train.iterations` or the new place of a prior, `data.prior.model`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Train this variant of the recipe alone (repeatable)
    #[arg(long = "variant", alias = "arm", value_name = "NAME", conflicts_with = "resume")]
    pub(crate) variants: Vec<String>,
    /// Run a few short steps of everything, to see that it works
    #[arg(long, conflicts_with = "resume")]
    pub(crate) smoke: bool,
    /// Measure where the time of STEPS training steps of every variant goes, instead of training; with 0, print what a
    /// step computes, moves and uploads by formula, without data
    #[arg(long, value_name = "STEPS", num_args = 0..=1, default_missing_value = "20", conflicts_with = "resume",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=100_000))]
    pub(crate) profile: Option<usize>,
    /// Continue the run in this folder from its last checkpoint
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<PathBuf>,
}

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
    /// Folder of data sets, as `simile data fetch --data DIR` fills it, to look for theirs in
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: Option<RecipesAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecipesAction {
    /// Print a recipe, a start for one of your own, or the rows of a table
    Show {
        /// Its name
        name: String,
    },
}

/// Write one HTML file that shows runs and compares them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile report runs/fair-digits
  simile report runs/seed-0 runs/seed-1 runs/seed-2 --out seeds.html")]
pub(crate) struct Report {
    /// Run folders
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The file to write [default: report.html in the first run]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
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

#[derive(Debug, Args)]
pub(crate) struct SelfTest {
    #[arg(value_parser = ChoiceParser)]
    pub(crate) device: DeviceChoice,
}

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  simile completions bash > ~/.local/share/bash-completion/completions/simile
  simile completions zsh > ~/.zfunc/_simile")]
pub(crate) struct Completions {
    /// The shell to complete in
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Device {
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there)
    #[arg(long, value_parser = ChoiceParser, value_name = "NAME[:N]", default_value_t = DeviceChoice::AUTO)]
    pub(crate) device: DeviceChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Devices {
    /// Where to compute; `vulkan:1` is the second of its kind (`simile devices` lists what is there), and several, as
    /// in `cuda:0,cuda:1`, share the chunks of the method `cached`
    #[arg(
        long,
        value_parser = ChoiceParser,
        value_name = "NAME[:N]",
        value_delimiter = ',',
        default_values_t = [DeviceChoice::AUTO]
    )]
    pub(crate) device: Vec<DeviceChoice>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        let mut cli = Cli::command();
        for command in cli.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:"), "no example in the help of {}", command.get_name());
        }
    }
}
