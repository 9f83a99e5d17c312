//! `simile report`

use anyhow::Result;
use serde::Serialize;

use crate::cli::Report;
use crate::console::Console;
use crate::peers;
use crate::report::{RunRecord, page};
use crate::run_folder::folder::{self, REPORT};

#[derive(Serialize)]
struct Answer {
    report: String,
    bytes: usize,
}

pub(super) fn run(arguments: &Report, console: Console) -> Result<()> {
    peers::refuse_several("write the same page", None)?;
    let runs = arguments.runs.iter().map(|run| RunRecord::read(run)).collect::<Result<Vec<_>>>()?;
    let beside_first = arguments.runs.first().map(|run| run.join(REPORT));
    let out = arguments.out.clone().or(beside_first).unwrap_or_else(|| REPORT.into());
    let html = page(&runs)?;
    folder::write(&out, html.as_bytes())?;
    let answer = Answer { report: out.display().to_string(), bytes: html.len() };
    console.answer(&answer, || answer.report.clone())
}
