//! `cargo web build` writes the npm package to `web/pkg` and the site to `www/dist`; `cargo web serve` does that
//! and serves the site on 127.0.0.1.

mod npm;
mod package;
mod serve;
mod wasm;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};

/// Builds the npm package `simile-web` and the site.
#[derive(Parser)]
#[command(name = "cargo web", bin_name = "cargo web", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the package to web/pkg and the site to www/dist.
    Build(BuildOptions),
    /// Build, then serve www/dist on 127.0.0.1.
    Serve {
        /// Port to listen on; 0 takes any free one.
        #[arg(long, default_value_t = 8000)]
        port: u16,
        /// Serve what was built before.
        #[arg(long)]
        no_build: bool,
        #[command(flatten)]
        build: BuildOptions,
    },
}

#[derive(Args)]
struct BuildOptions {
    /// Optimise little: for tests, quicker to build, and several times larger.
    #[arg(long)]
    quick: bool,
    /// Leave out the site.
    #[arg(long)]
    package_only: bool,
}

/// The folders that the tool reads and writes.
struct Workspace {
    root: PathBuf,
}

impl Workspace {
    fn find() -> Result<Self> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().nth(2).context("web/bundle lies two folders below the workspace")?;
        Ok(Self { root: root.to_path_buf() })
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // A `main` that returns the error prints a back trace below it where RUST_BACKTRACE is set.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let workspace = Workspace::find()?;
    match Arguments::parse().task {
        Task::Build(options) => build(&workspace, &options),
        Task::Serve { port, no_build, build: options } => {
            if !no_build {
                build(&workspace, &options)?;
            }
            serve::serve(&workspace.path("www/dist"), port)
        }
    }
}

fn build(workspace: &Workspace, options: &BuildOptions) -> Result<()> {
    wasm::check_target(workspace)?;
    npm::install(&workspace.path("web"))?;
    if !options.package_only {
        // Before the build, which takes minutes: npm refuses a Node that the site's builder does not take.
        npm::install(&workspace.path("www"))?;
    }
    wasm::build(workspace, options.quick)?;
    package::write(workspace)?;
    if !options.package_only {
        npm::run(&workspace.path("www"), &["run", "check"])?;
        npm::run(&workspace.path("www"), &["run", "build"])?;
    }
    Ok(())
}
