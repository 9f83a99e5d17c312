//! The linear probe and the nearest neighbours beside scikit-learn on the same machine in one run:
//! `cargo bench --bench probe [-- PYTHON [FILTER [ROWS [COLUMNS]]]]`; 60,000 rows of 500 columns by default. FILTER selects
//! the lines whose names contain it: `1e-1`, `1e-3`, `1e-6` (penalties), `neighbours`.
//!
//! Both sides get the same standardised features in `f32` and two processor cores, and run in turn. scikit-learn's
//! `LogisticRegression` (L-BFGS) runs with the loosest tolerance that reaches the objective of ours within 1e-6 of it, in
//! `f32` and in `f64`; its neighbours are `NearestNeighbors(algorithm="brute")` on unit rows. Our time of the neighbours
//! includes the votes. PYTHON names an interpreter with scikit-learn (`python3` by default).
#![allow(missing_docs, clippy::print_stdout)]

#[path = "../src/allocator.rs"]
mod allocator;
#[path = "peer/process.rs"]
mod process;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use simile_core::eval::knn::KnnConfig;
use simile_core::eval::linear_probe::{LinearProbe, LinearProbeConfig, Target};
use simile_core::eval::penalty::PENALTIES;
use simile_core::eval::standardise::Standardise;
use simile_core::eval::unit::Unit;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{FeatureTable, Rows as _};

use process::Peer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CLASSES: usize = 10;
const QUERIES: usize = 10_000;
/// Tolerances of scikit-learn, the loosest first.
const TOLERANCES: [f64; 5] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
/// The objective that both have to reach, relative to ours.
const EXCESS: f64 = 1e-6;
const ROUNDS: usize = 3;
/// The name of the line of the nearest neighbours.
const NEIGHBOURS: &str = "neighbours";

fn main() -> Result<()> {
    allocator::keep_freed_memory();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let python = arguments.first().map_or("python3", String::as_str);
    let filter = arguments.get(1).map_or("", String::as_str);
    let size = |at: usize, usual| arguments.get(at).map_or(Ok(usual), |size| size.parse::<usize>());
    let (rows, columns) = (size(2, 60_000)?, size(3, 500)?);
    let penalties: Vec<f64> =
        PENALTIES.into_iter().rev().filter(|penalty| format!("{penalty:e}").contains(filter)).collect();
    let has_neighbours = NEIGHBOURS.contains(filter);
    if penalties.is_empty() && !has_neighbours {
        bail!("no line is named `{filter}`; there are {NEIGHBOURS}, 1e-1, 1e-3 and 1e-6");
    }
    let folder = tempfile::tempdir()?;
    let (features, labels) = made(rows, columns, 0)?;
    let (queries, _) = made(QUERIES, columns, 1)?;
    write(&folder.path().join("features"), features.values().iter().map(|value| value.to_le_bytes()))?;
    write(&folder.path().join("queries"), queries.values().iter().map(|value| value.to_le_bytes()))?;
    write(&folder.path().join("labels"), labels.iter().map(|&label| (label as u32).to_le_bytes()))?;
    let mut peer = Peer::start(python, "probe/probe.py", "scikit-learn")?;
    peer.ask(&json!({ "task": "read", "folder": folder.path(), "columns": columns }))?;

    println!(
        "| what | s | scikit-learn f32 s | f64 s | f32 / ours | f64 / ours | J | scikit-learn's J / J - 1 |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for penalty in penalties {
        probe(&mut peer, &features, &labels, penalty)?;
    }
    if has_neighbours {
        neighbours(&mut peer, &features, &labels, &queries)?;
    }
    Ok(())
}

fn probe(peer: &mut Peer, features: &FeatureTable, labels: &[usize], penalty: f64) -> Result<()> {
    let config = LinearProbeConfig { regularisation: penalty, ..LinearProbeConfig::default() };
    let target = Target::Classes { labels, classes: CLASSES };
    let fit = || config.fit(features, target);
    let LinearProbe { objective, iterations, stop, .. } = fit()?;
    let reached = |weights: &Value| -> Result<f64> {
        let weight: Matrix = serde_json::from_value(weights["weight"].clone())?;
        let bias: Vec<f64> = serde_json::from_value(weights["bias"].clone())?;
        let still = LinearProbeConfig { steps: 0, ..config.clone() };
        Ok(still.fit_from(features, target, &weight, &bias)?.objective)
    };
    let mut cells = Vec::new();
    for precision in ["f32", "f64"] {
        let mut attempt = None;
        for tolerance in TOLERANCES {
            let request = json!({ "task": "probe", "penalty": penalty, "tolerance": tolerance, "precision": precision });
            let excess = reached(&peer.ask(&request)?)? / objective - 1.0;
            attempt = Some((request, excess));
            if excess <= EXCESS {
                break;
            }
        }
        let (request, excess) = attempt.context("no tolerance")?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            fit()?;
            ours.push(begun.elapsed().as_secs_f64());
            theirs.push(peer.ask(&request)?["seconds"].as_f64().context("no seconds")?);
        }
        cells.push((median(ours), median(theirs), excess, request["tolerance"].clone()));
    }
    let [(ours, single, of_single, _), (beside_double, double, of_double, _)] = &cells[..] else {
        return Ok(());
    };
    println!(
        "| probe, λ = {penalty:e}, {iterations} iterations, {stop:?} | {ours:.3} | {single:.3} (tol {}) | {double:.3} (tol {}) | {:.2} | \
         {:.2} | {objective:.10} | {of_single:.1e}, {of_double:.1e} |",
        cells[0].3,
        cells[1].3,
        single / ours,
        double / beside_double,
    );
    Ok(())
}

fn neighbours(
    peer: &mut Peer,
    features: &FeatureTable,
    labels: &[usize],
    queries: &FeatureTable,
) -> Result<()> {
    let config = KnnConfig::default();
    let vote = || config.vote(&Unit(features), labels, CLASSES, &Unit(queries));
    let votes = vote()?.predictions()?;
    let request = json!({ "task": "neighbours", "k": config.k, "temperature": config.temperature });
    let answer = peer.ask(&request)?;
    let theirs: Vec<usize> = serde_json::from_value(answer["classes"].clone())?;
    let differ = votes.iter().zip(&theirs).filter(|(a, b)| a != b).count();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        vote()?;
        ours.push(begun.elapsed().as_secs_f64());
        theirs.push(peer.ask(&request)?["seconds"].as_f64().context("no seconds")?);
    }
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "| {QUERIES} queries, k = {}, {differ} other votes | {ours:.2} | {theirs:.2} | | {:.2} | | | |",
        config.k,
        theirs / ours
    );
    Ok(())
}

/// Standardised features of overlapping classes, with neighbouring columns that resemble each other, and labels.
fn made(rows: usize, columns: usize, seed: u64) -> Result<(FeatureTable, Vec<usize>)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let labels: Vec<usize> = (0..rows).map(|_| rng.random_range(0..CLASSES)).collect();
    let mut values = Vec::with_capacity(rows * columns);
    for label in &labels {
        let mut last = 0.0;
        for column in 0..columns {
            let noise = (0..4).map(|_| rng.random::<f32>() - 0.5).sum::<f32>();
            last = 0.9 * last + noise;
            let centre = ((label * 31 + column * 17) % 11) as f32 * 0.02;
            values.push((last + centre).max(-0.3));
        }
    }
    let raw = FeatureTable::new(rows, columns, values)?;
    let seen = Standardise::fit(&raw)?.of(&raw)?;
    Ok((FeatureTable::gather(&seen, &(0..seen.rows()).collect::<Vec<_>>())?, labels))
}

fn write(path: &Path, numbers: impl Iterator<Item = [u8; 4]>) -> Result<()> {
    Ok(std::fs::write(path, numbers.flatten().collect::<Vec<u8>>())?)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
