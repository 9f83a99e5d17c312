//! The command line of Simile.

mod allocator;
mod cli;
mod columns;
mod commands;
mod config;
mod console;
mod data;
mod devices;
mod draft;
mod exit;
mod experiment;
mod export;
mod extremes;
#[cfg(test)]
mod fuzz;
mod import;
mod interrupt;
mod markdown;
mod metrics;
mod names;
mod parquet;
mod peers;
mod positioned;
mod report;
mod reproduce;
mod run_folder;
mod shell;
mod single_precision;
#[cfg(test)]
#[allow(clippy::unwrap_used, dead_code, unreachable_pub, reason = "other test programs share it")]
#[path = "../../tests/src/skipped.rs"]
mod skipped;
mod sweep;
mod units;
mod utf8;
mod vectors;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

// Tests use an allocator that counts.
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    devices::without_desktop();
    allocator::keep_freed_memory();
    simile_kernels::keep_compiled_kernels();
    let outcome = match cli::SelfTest::from_process() {
        Some(arguments) => commands::self_test::run(&arguments),
        None => commands::run(cli::Cli::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
