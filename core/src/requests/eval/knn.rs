//! `knn`: votes of the nearest rows of a bank.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{input, optional_input, two_largest};
use crate::error::Result;
use crate::eval::knn::KnnConfig;
use crate::eval::metrics::top_k_accuracy;
use crate::eval::unit::unit_rows;
use crate::numeric::matrix::Matrix;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "knn";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(default = "released_k")]
    k: usize,
    #[serde(default = "released_temperature")]
    temperature: f64,
    classes: usize,
}

fn released_k() -> usize {
    KnnConfig::default().k
}

fn released_temperature() -> f64 {
    KnnConfig::default().temperature
}

/// Inputs `bank` `[n, d]`, `bank_labels` `[n]`, `queries` `[m, d]` and, for accuracies, `query_labels` `[m]`;
/// rows are normalised unless `inputs_normalised` is true. Parameters `k` (default 200), `temperature`
/// (default 0.5), `classes`.
///
/// # Errors
/// As [`KnnConfig::vote`], and for missing inputs and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let mut bank: Matrix = input(NAME, inputs, "bank")?;
    let mut queries: Matrix = input(NAME, inputs, "queries")?;
    let labels: Vec<usize> = input(NAME, inputs, "bank_labels")?;
    if optional_input(inputs, "inputs_normalised")? != Some(true) {
        (bank, queries) = (unit_rows(&bank), unit_rows(&queries));
    }
    let config = KnnConfig { k: params.k, temperature: params.temperature };
    let votes = config.vote(&bank, &labels, params.classes, &queries)?;
    let mut aux =
        json!({ "predictions": votes.predictions()?, "class_scores": Vec::from(votes.scores.clone()) });
    if let Some(gap) = votes.gap.iter().flatten().copied().reduce(f64::min) {
        aux["min_gap_at_k"] = gap.into();
    }
    if params.classes > 1 {
        let margin = votes.scores.iter_rows().map(relative_margin).fold(f64::INFINITY, f64::min);
        aux["min_relative_margin_top2"] = margin.into();
    }
    if let Some(expected) = optional_input::<Vec<usize>>(inputs, "query_labels")? {
        aux["top1_percent"] = (100.0 * top_k_accuracy(&votes.scores, &expected, 1)?).into();
        aux["top5_percent"] = (100.0 * top_k_accuracy(&votes.scores, &expected, 5)?).into();
    }
    Ok(Outcome { aux, ..Outcome::default() })
}

/// Difference of the scores of the best class and the second, as a fraction of the best score.
fn relative_margin(scores: &[f64]) -> f64 {
    let [first, second] = two_largest(scores);
    (first - second) / first
}
