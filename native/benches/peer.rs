//! Objectives, a training step and encoders beside PyTorch on the same machine in one run:
//! `cargo bench --bench peer [-- PYTHON [FILTER [SIZE...]]]`.
//!
//! Both sides compute the same thing on two processor cores, in turn; the medians and their ratio are printed as a
//! Markdown table. An objective's row is its loss with its gradient. PyTorch's side is `benches/peer/peer.py`; PYTHON
//! names an interpreter that has torch and numpy, and torchvision for encoders (`python3` by default); FILTER selects
//! the rows whose names contain it. SIZEs replace the usual batch sizes.
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../src/allocator.rs"]
mod allocator;
#[path = "peer/cases.rs"]
mod cases;
#[path = "peer/encoders.rs"]
mod encoders;
#[path = "peer/inputs.rs"]
mod inputs;
#[path = "peer/process.rs"]
mod process;
#[path = "peer/training.rs"]
mod training;

use std::time::Instant;

use anyhow::{Result, bail};
use burn::tensor::Device;
use serde_json::json;
use simile_core::loss;
use simile_core::loss::Objective;

use cases::{CASES, Case};
use inputs::batch;
use process::Peer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WIDTH: usize = 128;
/// Rounds of each side in turn.
const ROUNDS: usize = 3;
/// The time of a round, and the most repeats of the work in it. The threads of the side that has just
/// finished spin for some milliseconds before they sleep, which would disturb a single short repeat.
const ROUND_MILLISECONDS: f64 = 100.0;
const MOST_REPEATS: f64 = 25.0;
/// Batch sizes of every objective, and further ones for objectives of training runs.
const SIZES: [usize; 3] = [256, 1024, 4096];
const SMALL_SIZES: [usize; 4] = [256, 512, 1024, 4096];

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let python = arguments.first().map_or("python3", String::as_str);
    let filter = arguments.get(1).map_or("", String::as_str);
    let asked: Vec<usize> = arguments.iter().skip(2).map(|size| size.parse()).collect::<Result<_, _>>()?;
    known(filter)?;
    let mut peer = Peer::start(python, "peer/peer.py", "torch and numpy, and torchvision for encoders")?;
    println!("| what | b | Simile ms | PyTorch ms | PyTorch / Simile |\n|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| case.label.contains(filter)) {
        let usual: &[usize] = if case.trains { &SMALL_SIZES } else { &SIZES };
        let sizes = if asked.is_empty() { usual } else { &asked };
        for &b in sizes {
            let objective = case.objective()?;
            let inputs = batch(case, b, &Device::flex())?;
            let wanted: Vec<String> = objective.evaluate(&inputs)?.gradients.into_keys().collect();
            let request =
                json!({ "case": case.label, "b": b, "d": WIDTH, "inputs": case.inputs, "grads": wanted });
            let mut step = || evaluate(objective.as_ref(), &inputs);
            row(&mut peer, case.label, b, &request, &mut step)?;
        }
    }
    if training::NAME.contains(filter) {
        let mut step = training::step()?;
        let request = json!({ "case": training::NAME, "b": training::BATCH, "d": WIDTH });
        row(&mut peer, training::NAME, training::BATCH, &request, &mut step)?;
    }
    for case in encoders::CASES.iter().filter(|case| case.label.contains(filter)) {
        let request = json!({ "case": case.label, "b": case.batch, "d": WIDTH });
        row(&mut peer, case.label, case.batch, &request, &mut case.step()?)?;
    }
    Ok(())
}

/// # Errors
/// No row's name contains the filter.
fn known(filter: &str) -> Result<()> {
    let encoders = encoders::CASES.iter().map(|case| case.label);
    let names: Vec<&str> =
        CASES.iter().map(|case| case.label).chain([training::NAME]).chain(encoders).collect();
    if names.iter().any(|name| name.contains(filter)) {
        return Ok(());
    }
    bail!("no row's name contains {filter:?}; the rows are:\n  {}", names.join("\n  "))
}

fn evaluate(objective: &dyn Objective, batch: &simile_core::loss::batch::Batch) -> Result<()> {
    let evaluation = objective.evaluate(batch)?;
    drop(evaluation.loss.into_data());
    evaluation.gradients.into_values().for_each(|gradient| drop(gradient.into_data()));
    Ok(())
}

/// Times both sides in turn, after a warm-up of each, and prints their medians.
fn row(
    peer: &mut Peer,
    label: &str,
    b: usize,
    request: &serde_json::Value,
    step: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut timed = || -> Result<f64> {
        let start = Instant::now();
        step()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    };
    timed()?;
    let repeats = (ROUND_MILLISECONDS / timed()?).clamp(1.0, MOST_REPEATS).ceil() as usize;
    let mut theirs_of = |repeats: usize| -> Result<Vec<f64>> {
        let mut request = request.clone();
        request["repeats"] = repeats.into();
        Ok(serde_json::from_value(peer.ask(&request)?["milliseconds"].take())?)
    };
    theirs_of(1)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for _ in 0..repeats {
            ours.push(timed()?);
        }
        theirs.extend(theirs_of(repeats)?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!("| {label} | {b} | {ours:.2} | {theirs:.2} | {:.2} |", theirs / ours);
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Case {
    fn objective(&self) -> Result<Box<dyn Objective>> {
        let parameters = serde_json::from_str(self.parameters)?;
        Ok(loss::build(self.objective, Some("released"), parameters)?)
    }
}
