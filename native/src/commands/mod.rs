//! One file or folder a command, and code that several share.

mod completions;
mod data;
mod devices;
mod embed;
mod evaluate;
mod export;
mod import;
mod init;
mod keys;
mod loss;
mod objectives;
mod recipes;
mod report;
mod reproduce;
pub(crate) mod self_test;
mod shared;
mod sweep;
mod train;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::console::Console;

/// Runs the command of the command line.
///
/// # Errors
/// The command failed; [`crate::exit::report`] gives the exit code of the error.
pub(crate) fn run(cli: Cli) -> Result<()> {
    let console = Console::new(cli.json);
    match cli.command {
        Command::Init(arguments) => init::run(&arguments, console),
        Command::Train(arguments) => train::run(&arguments, console),
        Command::Evaluate(arguments) => evaluate::run(&arguments, console),
        Command::Embed(arguments) => embed::run(&arguments, console),
        Command::Loss(arguments) => loss::run(&arguments, console),
        Command::Data(action) => data::run(&action, console),
        Command::Recipes(arguments) => recipes::run(&arguments, console),
        Command::Objectives(arguments) => objectives::run(&arguments, console),
        Command::Keys(arguments) => keys::run(&arguments, console),
        Command::Devices(arguments) => devices::run(&arguments, console),
        Command::Import(arguments) => import::run(&arguments, console),
        Command::Export(arguments) => export::run(&arguments, console),
        Command::Report(arguments) => report::run(&arguments, console),
        Command::Reproduce(arguments) => reproduce::run(&arguments, console),
        Command::Sweep(arguments) => sweep::run(&arguments, console),
        Command::Completions(arguments) => completions::run(&arguments, cli.json),
    }
}
