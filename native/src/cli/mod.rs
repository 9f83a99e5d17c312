//! The syntax of the command line. The module `commands` runs it.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::devices::{ChoiceParser, DeviceChoice, SELF_TEST};

mod data;
mod device;
mod lists;
mod model;
mod own_pictures;
mod several;
mod shard;
mod train;

pub(crate) use data::{Data, DataCheck, DataFetch, DataList, DataMeasure, DataPreview};
pub(crate) use lists::{Have, Keys, ListDevices, Objectives, Recipes, RecipesAction};
pub(crate) use model::{Embed, Evaluate, Export, Import, Loss, Precision, Target};
pub(crate) use own_pictures::{Init, OwnPictures};
pub(crate) use several::{Reproduce, Runs, Sweep};
pub(crate) use shard::Shard;
pub(crate) use train::Train;

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

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted (143 by SIGTERM,
129 by SIGHUP); training writes a checkpoint first."
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
    Report(Report),
    Reproduce(Reproduce),
    Sweep(Sweep),
    Completions(Completions),
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

/// The test of one device, for the process that `--device auto` and `simile devices --check` start for it. It is none of the commands,
/// since lists and completions would show a hidden one.
#[derive(Debug, Parser)]
#[command(name = SELF_TEST)]
pub(crate) struct SelfTest {
    #[arg(value_parser = ChoiceParser)]
    pub(crate) device: DeviceChoice,
}

impl SelfTest {
    /// The arguments of this process, if it was started for that.
    pub(crate) fn from_process() -> Option<Self> {
        let mut words = std::env::args_os().skip(1).peekable();
        let is_asked = words.peek().is_some_and(|word| word == SELF_TEST);
        is_asked.then(|| Self::parse_from(words))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
        for command in cli.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            assert!(help.contains("Examples:"), "no example in the help of {}", command.get_name());
        }
    }

    #[test]
    fn the_test_of_a_device_is_no_command() {
        let listed = Cli::try_parse_from(["simile", "--json"]).unwrap_err().to_string();
        assert!(listed.contains("sweep") && !listed.contains(SELF_TEST), "{listed}");
        assert!(Cli::command().get_subcommands().all(|command| command.get_name() != SELF_TEST));
        SelfTest::command().debug_assert();
    }
}
