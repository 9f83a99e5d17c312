//! The command line of Simile.

mod against;
mod cli;
mod command;
mod console;
mod data;
mod device;
mod exit;
mod export;
mod metric;
mod model;
mod probe;
mod recipe;
mod report;
mod reproduce;
mod run;
mod spread;
mod sweep;
mod torch;

use std::process::ExitCode;

use clap::Parser as _;

/// A training step frees and takes the same large buffers again and again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match command::run(cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::code(&error),
    }
}
