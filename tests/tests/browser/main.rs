//! The npm package and the site in a real browser, on WebGPU and on the CPU.
//!
//! Needs Chromium or Chrome (or its path in `CHROMIUM`) and Node. Where one of them is missing the tests are noted as
//! skipped; with `SIMILE_REQUIRE_BROWSER=1` they fail instead. The first test that needs the package and the site
//! builds them, if they are missing or older than one of their sources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod compare;
mod data;
mod embed;
mod jobs;
mod lab;
mod lifetime;
mod package;
mod page;
mod report;
mod site;
mod snippets;
mod trainer;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::jobs::Node;

#[derive(Clone, Copy)]
enum Where {
    WebGpu,
    /// The choice is left to the package, in a browser that offers no adapter.
    Cpu,
}

impl Where {
    fn name(self) -> &'static str {
        match self {
            Self::WebGpu => "webgpu",
            Self::Cpu => "cpu",
        }
    }
}

fn largest_difference(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    assert_eq!(a.iter().map(Vec::len).collect::<Vec<_>>(), b.iter().map(Vec::len).collect::<Vec<_>>());
    let pairs = a.iter().flatten().zip(b.iter().flatten());
    // A NaN counts as a difference.
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, |most, d| if d <= most { most } else { d })
}

/// True if the browser, Node and the site are available.
fn is_ready() -> bool {
    let is_required = std::env::var_os("SIMILE_REQUIRE_BROWSER").is_some_and(|value| value == "1");
    match Node::get() {
        Ok(_) => {
            page::build_if_stale();
            true
        }
        Err(missing) if is_required => panic!("{missing}"),
        Err(missing) => {
            simile_tests::skipped::note(missing);
            false
        }
    }
}

/// Runs a script of `tests/browser` with a job, and returns its result. Every job has the package, the site, and a folder for
/// pictures of the pages.
fn run(script: &str, place: Where, job: Value) -> Value {
    let (webgpu, device) = match place {
        Where::WebGpu => (true, "webgpu"),
        Where::Cpu => (false, "auto"),
    };
    let mut whole = json!({
        "webgpu": webgpu,
        "device": device,
        "package": workspace().join("web/pkg"),
        "site": workspace().join("www/dist"),
        "screenshots": screenshots(),
    });
    whole.as_object_mut().unwrap().extend(job.as_object().unwrap().clone());
    Node::get().unwrap().perform(script, &whole)
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The folder for pictures of the pages.
fn screenshots() -> PathBuf {
    let folder = workspace().join("target/browser");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}
