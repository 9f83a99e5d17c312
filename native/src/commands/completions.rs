//! `simile completions`

use std::io::{self, Write as _};

use anyhow::Result;
use clap::CommandFactory as _;

use crate::cli::{Cli, Completions};
use crate::exit::usage;

pub(super) fn run(arguments: &Completions, json: bool) -> Result<()> {
    if json {
        return Err(usage("`simile completions` prints a script, which is no JSON; leave out --json"));
    }
    // The generator panics on a writer that fails, such as a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "simile", &mut script);
    Ok(io::stdout().write_all(&script)?)
}
