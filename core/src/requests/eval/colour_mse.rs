//! `colour-mse`: the colour error of a given linear map, averaged as in the released CCL-K code.

use serde::Deserialize;
use serde_json::{Value, json};

use super::input;
use crate::error::Result;
use crate::eval::regression::{affine, batched_mean_squared_error, mean_squared_error};
use crate::numeric::matrix::Matrix;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "colour-mse";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(default = "released_batch")]
    batch: usize,
}

fn released_batch() -> usize {
    1000
}

/// Inputs `features` `[n, d]`, `colours` `[n, m]`, `weight` `[m, d]`, `clf_bias` `[m]`; parameter `batch`
/// (default 1000).
///
/// # Errors
/// As [`batched_mean_squared_error`], and for missing inputs and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let features: Matrix = input(NAME, inputs, "features")?;
    let colours: Matrix = input(NAME, inputs, "colours")?;
    let weight: Matrix = input(NAME, inputs, "weight")?;
    let bias: Vec<f64> = input(NAME, inputs, "clf_bias")?;
    let predictions = affine(&features, &weight, &bias)?;
    let loss = batched_mean_squared_error(&predictions, &colours, params.batch)?;
    let aux = json!({ "mse_over_all_samples": mean_squared_error(&predictions, &colours)? });
    Ok(Outcome { loss: Some(loss), aux, ..Outcome::default() })
}
