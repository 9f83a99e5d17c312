//! The case `lff-weights`: LfF's weights from the scores of both networks, step by step.

use serde::Deserialize;
use serde_json::{Value, json};

use super::input::parse_part;
use super::outcome::Outcome;
use crate::error::{Error, Result};
use crate::loss::LffWeights;
use crate::loss::logits::below;
use crate::numeric::matrix::Matrix;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    ema_alpha: f64,
    eps: f64,
    n_samples: usize,
    classes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    labels: Vec<usize>,
    batches: Vec<Vec<usize>>,
    logits_b: Vec<Matrix>,
    logits_d: Vec<Matrix>,
}

/// Runs the case `lff-weights`: batches of training samples, with the scores of both networks on all of them at each
/// step. `aux` holds the weights of each batch and the averages after it.
///
/// # Errors
/// An input or parameter is missing, unknown or has the wrong shape; the error names it.
pub(super) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let inputs: Inputs = parse_part("inputs", inputs)?;
    if inputs.labels.len() != params.n_samples {
        let found = format!("{}", inputs.labels.len());
        return Err(Error::shape("labels", format!("{} (n_samples)", params.n_samples), found));
    }
    let mut state = LffWeights::new(inputs.labels.clone(), params.ema_alpha, params.eps)?;
    let (mut weights, mut biased, mut debiased) = (Vec::new(), Vec::new(), Vec::new());
    for (step, samples) in inputs.batches.iter().enumerate() {
        let of = |name: &str, scores: &[Matrix]| {
            let scores = scores.get(step).ok_or_else(|| {
                Error::shape(name, format!("{} steps", inputs.batches.len()), format!("{step}"))
            })?;
            host_losses(name, scores, &inputs.labels, samples, params.classes)
        };
        let (b, d) = (of("logits_b", &inputs.logits_b)?, of("logits_d", &inputs.logits_d)?);
        weights.push(state.update(samples, &b, &d)?);
        biased.push(state.biased().to_vec());
        debiased.push(state.debiased().to_vec());
    }
    let aux = json!({ "weights": weights, "ema_b": biased, "ema_d": debiased });
    Ok(Outcome { aux, ..Outcome::default() })
}

/// Cross-entropies of some rows of a table of scores.
fn host_losses(
    name: &str,
    scores: &Matrix,
    labels: &[usize],
    samples: &[usize],
    classes: usize,
) -> Result<Vec<f64>> {
    if scores.rows() != labels.len() || scores.columns() != classes {
        let found = format!("{}x{}", scores.rows(), scores.columns());
        return Err(Error::shape(name, format!("{}x{classes}", labels.len()), found));
    }
    below("batches", samples, labels.len())?;
    below("labels", labels, classes)?;
    Ok((samples.iter())
        .map(|&i| {
            let row = scores.row(i);
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            largest + row.iter().map(|s| (s - largest).exp()).sum::<f64>().ln() - row[labels[i]]
        })
        .collect())
}
