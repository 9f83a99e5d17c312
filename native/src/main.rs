//! The command line of Simile.

mod against;
mod allocator;
mod cli;
mod command;
mod console;
mod data;
mod device;
mod exit;
mod export;
#[cfg(test)]
mod fuzz;
mod metric;
mod model;
mod names;
mod probe;
mod pytorch;
mod recipe;
mod report;
mod reproduce;
mod run;
mod spread;
mod sweep;
mod torch;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    allocator::keep_freed_memory();
    match command::run(cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::code(&error),
    }
}
