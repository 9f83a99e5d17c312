//! Objectives beside PyTorch on the same machine in one run: `cargo bench --bench peer [-- PYTHON]`.
//!
//! Both sides compute one loss and its gradient on two processor cores, in turn, and the medians and their ratio are
//! printed as a Markdown table. PyTorch's side is `benches/peer/objectives.py`; PYTHON names an interpreter that has
//! torch and numpy (`python3` by default).
#![allow(missing_docs, clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::{Device, Tensor, TensorData};
use serde_json::{Value, json};
use simile_core::batch::Batch;
use simile_core::matrix::Matrix;
use simile_core::objective;

const WIDTH: usize = 128;
const ROUNDS: usize = 3;

/// Objective, parameters, and its name in the table and to the peer.
fn cases() -> Vec<(&'static str, &'static str, Option<&'static str>, Value)> {
    let cosine = json!({ "kernel": { "name": "cosine" } });
    let rbf = json!({ "kernel": { "name": "rbf", "sigma": 20.0 } });
    vec![
        ("nt-xent", "nt-xent", None, json!({})),
        ("supcon", "supcon", Some("paper"), json!({ "temperature": 0.5 })),
        ("dcl", "dcl", None, json!({})),
        ("contex", "contex", Some("released"), json!({ "temperature": 0.5 })),
        ("decoupled-uniformity", "decoupled-uniformity", Some("released"), json!({})),
        ("fair-cclk cosine", "fair-cclk", Some("released"), cosine),
        ("fair-cclk rbf", "fair-cclk", Some("released"), rbf),
    ]
}

struct Peer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(python: &str) -> Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer/objectives.py");
        let mut process = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {python}"))?;
        let requests = process.stdin.take().context("no standard input")?;
        let answers = BufReader::new(process.stdout.take().context("no standard output")?);
        Ok(Self { process, requests, answers })
    }

    fn milliseconds(&mut self, case: &str, b: usize, repeats: usize) -> Result<Vec<f64>> {
        let request = json!({ "case": case, "b": b, "d": WIDTH, "repeats": repeats });
        writeln!(self.requests, "{request}")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let answer: Value =
            serde_json::from_str(&line).context("the peer failed; does PYTHON have torch?")?;
        Ok(serde_json::from_value(answer["milliseconds"].clone())?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Deterministic values without structure.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn batch(b: usize, device: &Device) -> Batch {
    let view = |seed| Tensor::<2>::from_data(TensorData::new(values(b * WIDTH, seed), [b, WIDTH]), device);
    let colours = values(b * 3, 3);
    let z = Matrix::from_fn(b, 3, |i, j| (f64::from(colours[i * 3 + j]) + 0.5) * 255.0);
    Batch::views(view(1), view(2))
        .with_indices("labels", (0..b).map(|i| i % 10).collect())
        .with_condition("z", z)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let python = arguments.first().map_or("python3", String::as_str);
    let mut peer = Peer::start(python)?;
    let device = Device::flex();
    println!("| objective | b | Simile ms | PyTorch ms | PyTorch / Simile |\n|---|---|---|---|---|");
    for (label, name, variant, params) in cases() {
        for b in [256, 512, 1024, 4096] {
            let repeats = if b > 1024 { 1 } else { 5 };
            let Ok(objective) = objective::build(name, variant, params.clone()) else { continue };
            let batch = batch(b, &device);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for round in 0..=ROUNDS {
                let mut times = Vec::new();
                for _ in 0..repeats {
                    let start = Instant::now();
                    let evaluation = objective.evaluate(&batch)?;
                    drop(evaluation.loss.into_data());
                    for gradient in evaluation.gradients.into_values() {
                        drop(gradient.into_data());
                    }
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
                let answered = peer.milliseconds(label, b, repeats)?;
                if round > 0 {
                    ours.extend(times);
                    theirs.extend(answered);
                }
            }
            let (ours, theirs) = (median(ours), median(theirs));
            println!("| {label} | {b} | {ours:.1} | {theirs:.1} | {:.2} |", theirs / ours);
        }
    }
    Ok(())
}
