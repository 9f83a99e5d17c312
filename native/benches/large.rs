//! Time and memory of objectives on a batch too large for a `b x b` matrix:
//! `cargo bench --bench large [-- OBJECTIVE [SAMPLES]]`; 65,536 samples by default, 128 columns in `f32`.
//!
//! Prints a line of a Markdown table: the seconds of the loss with its gradient, and the largest memory that the
//! process has held so far (where the system says so, on Linux). Name one objective at a time to measure its own.
#![allow(missing_docs, clippy::print_stdout)]

#[expect(dead_code, reason = "the other table has sizes of its own")]
#[path = "peer/cases.rs"]
mod cases;
#[path = "peer/inputs.rs"]
mod inputs;

use std::time::Instant;

use anyhow::Result;
use burn::tensor::Device;
use simile_core::loss;

const WIDTH: usize = 128;
const OBJECTIVES: [&str; 3] = ["nt-xent", "supcon", "fair-cclk cosine"];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let b = arguments.get(1).map_or(Ok(65_536), |samples| samples.parse())?;
    println!("| objective | b | s | GiB |\n|---|---|---|---|");
    for case in cases::CASES.iter().filter(|case| match arguments.first() {
        Some(name) => case.label == name,
        None => OBJECTIVES.contains(&case.label),
    }) {
        let batch = inputs::batch(case, b, &Device::flex())?;
        let parameters = serde_json::from_str(case.parameters)?;
        let objective = loss::build(case.objective, None, parameters)?;
        let start = Instant::now();
        let evaluation = objective.evaluate(&batch)?;
        drop(evaluation.loss.into_data());
        evaluation.gradients.into_values().for_each(|gradient| drop(gradient.into_data()));
        let seconds = start.elapsed().as_secs_f64();
        let memory = largest_memory().map_or_else(|| "–".into(), |kib| format!("{:.2}", kib / 1_048_576.0));
        println!("| {} | {b} | {seconds:.1} | {memory} |", case.label);
    }
    Ok(())
}

/// The largest resident size of this process so far in KiB.
fn largest_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
