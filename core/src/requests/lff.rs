//! The request `lff-weights`: LfF's weights from the scores of both networks, step by step.

use burn::tensor::{DType, Device, Tensor};
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::parse_part;
use super::outcome::{Outcome, read};
use crate::algorithm::LossAverages;
use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::cross_entropies;
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
struct Inputs {
    labels: Vec<usize>,
    batches: Vec<Vec<usize>>,
    logits_b: Vec<Matrix>,
    logits_d: Vec<Matrix>,
}

/// The name of this request.
pub(super) const NAME: &str = "lff-weights";

/// Runs the request: batches of training samples, with the scores of both networks on all of them at each
/// step. `aux` holds the weights of each batch and the averages after it.
///
/// # Errors
/// An input or parameter is missing, unknown or has the wrong shape; the error names it.
pub(super) async fn run(params: &Value, inputs: &Value, device: &Device, dtype: DType) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let inputs: Inputs = parse_part("inputs", inputs)?;
    if inputs.labels.len() != params.n_samples {
        let count = format!("{}", inputs.labels.len());
        return Err(Error::shape("labels", format!("{} (n_samples)", params.n_samples), count));
    }
    below("labels", &inputs.labels, params.classes)?;
    let mut state = LossAverages::new(inputs.labels.clone(), params.ema_alpha, params.eps, (device, dtype))?;
    // The weights of a step, then the averages of both networks after it.
    let mut results = Vec::new();
    for (step, samples) in inputs.batches.iter().enumerate() {
        below("batches", samples, inputs.labels.len())?;
        let losses = |name: &str, logits: &[Matrix]| -> Result<Tensor<1>> {
            let expected =
                || format!("{} matrices of {}x{}", inputs.batches.len(), inputs.labels.len(), params.classes);
            let logits = logits.get(step).ok_or_else(|| Error::shape(name, expected(), format!("{step}")))?;
            if (logits.rows(), logits.columns()) != (inputs.labels.len(), params.classes) {
                let shape = format!("{}x{}", logits.rows(), logits.columns());
                return Err(Error::shape(name, expected(), shape));
            }
            let labels = samples.iter().map(|&sample| inputs.labels[sample]).collect();
            let logits = logits.select(samples);
            let batch =
                Batch::default().with_matrix(name, logits, device, dtype).with_indices("labels", labels);
            cross_entropies(&batch, NAME, name)
        };
        let (biased, debiased) =
            (losses("logits_b", &inputs.logits_b)?, losses("logits_d", &inputs.logits_d)?);
        results.push(state.update(samples, biased, debiased)?);
        // The average of a sample that was never visited is 0 to a reader.
        results.extend(state.averages().map(|averages| averages.clamp_min(0.0)));
    }
    let results = read(results).await?;
    let column =
        |at: usize| -> Vec<&[f64]> { results.iter().skip(at).step_by(3).map(Matrix::data).collect() };
    let aux = json!({ "weights": column(0), "ema_b": column(1), "ema_d": column(2) });
    Ok(Outcome { aux, ..Outcome::default() })
}
