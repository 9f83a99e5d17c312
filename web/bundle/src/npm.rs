//! Runs npm in one of the folders that hold a `package.json`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Installs exactly what `package-lock.json` names, unless that was done already.
pub(crate) fn install(folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let installed = folder.join("node_modules/.package-lock.json");
    let is_current = match (lock.metadata(), installed.metadata()) {
        (Ok(lock), Ok(installed)) => installed.modified()? >= lock.modified()?,
        _ => false,
    };
    if is_current { Ok(()) } else { run(folder, &["ci", "--no-audit", "--no-fund"]) }
}

/// Runs `npm ARGUMENTS` in a folder.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Result<()> {
    run_command(
        Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" }).args(arguments).current_dir(folder),
    )
}

/// Runs a program to its end; the error names the command line.
pub(crate) fn run_command(command: &mut Command) -> Result<()> {
    eprintln!("> {}", display(command));
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| {
        format!(
            "cannot start `{program}`; the web package needs cargo, and Node 20.19, 22.12 or newer with npm"
        )
    })?;
    ensure!(status.success(), "`{}` failed ({status})", display(command));
    Ok(())
}

fn display(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
