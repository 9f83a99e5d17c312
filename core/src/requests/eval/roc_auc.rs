//! `roc-auc`: the area under the ROC curve of given scores.

use serde::Deserialize;
use serde_json::{Value, json};

use super::input;
use crate::error::{Error, Result};
use crate::eval::ranking::roc_auc;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "roc-auc";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {}

/// Inputs `scores` `[n]` and `labels` `[n]`, 1 for a positive sample and 0 for a negative one; no parameters.
///
/// # Errors
/// As [`roc_auc`], and for missing inputs, other labels and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let Params {} = parse_part("params", params)?;
    let scores: Vec<f64> = input(NAME, inputs, "scores")?;
    let labels: Vec<usize> = input(NAME, inputs, "labels")?;
    if let Some(row) = labels.iter().position(|&label| label > 1) {
        return Err(Error::shape("labels", "0 or 1", format!("{} in row {row}", labels[row])));
    }
    let positive: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
    let auc = roc_auc(&scores, &positive)?;
    let mut sorted = scores.clone();
    sorted.sort_by(f64::total_cmp);
    let ties = scores.len() - sorted.chunk_by(|a, b| a == b).count();
    Ok(Outcome { aux: json!({ "auc": auc, "ties": ties }), ..Outcome::default() })
}
