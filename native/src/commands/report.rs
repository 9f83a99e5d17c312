//! `simile report`

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::cli::Report;
use crate::console::Console;
use crate::exit::usage;
use crate::peers;
use crate::report::page;
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::folder::{self, REPORT};

#[derive(Serialize)]
struct Answer {
    report: String,
    bytes: usize,
}

pub(super) fn run(arguments: &Report, console: Console) -> Result<()> {
    peers::refuse_several("write the same page", None)?;
    arguments.out.as_deref().map_or(Ok(()), check_name)?;
    let runs = arguments.runs.iter().map(|run| FinishedRun::read(run)).collect::<Result<Vec<_>>>()?;
    let beside_first = arguments.runs.first().map(|run| run.join(REPORT));
    let out = arguments.out.clone().or(beside_first).unwrap_or_else(|| REPORT.into());
    let html = page(&runs)?;
    folder::write(&out, html.as_bytes())?;
    let answer = Answer { report: out.display().to_string(), bytes: html.len() };
    console.answer(&answer, || answer.report.clone())
}

/// Refuses a name that is not that of a page: it may be a model's, or that of another file of a run, which the page would replace.
fn check_name(out: &Path) -> Result<()> {
    let is_page = |ending: &str| out.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
    match ["html", "htm"].into_iter().any(is_page) {
        true => Ok(()),
        false => Err(usage(format_args!(
            "--out is {}, and the report is a page; let its name end with .html",
            out.display()
        ))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_report_takes_the_place_of_pages_alone() {
        for name in ["all.html", "a/ALL.HTM"] {
            assert!(check_name(Path::new(name)).is_ok(), "{name}");
        }
        for name in ["run/model.safetensors", "run/result.json", "html", ".html"] {
            let refused = check_name(Path::new(name)).unwrap_err().to_string();
            assert!(refused.contains("end with .html"), "{name}: {refused}");
        }
    }
}
