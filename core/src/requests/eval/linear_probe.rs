//! `linear-probe`: the minimiser of the probe's objective on the given features, without standardisation.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{input, optional_input, two_largest};
use crate::error::{Error, Result};
use crate::eval::check_table;
use crate::eval::linear_probe::{LinearProbe, LinearProbeConfig, Target};
use crate::eval::metrics::{predictions, top_k_accuracy};
use crate::numeric::matrix::Matrix;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "linear-probe";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    reg: f64,
    #[serde(default = "released_steps")]
    steps: usize,
    criterion: Criterion,
    classes: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Criterion {
    CrossEntropy,
    Mse,
}

fn released_steps() -> usize {
    LinearProbeConfig::default().steps
}

/// Inputs `features` `[n, d]`, `labels` `[n]` or `targets` `[n, classes]` by `criterion` (`cross-entropy` or
/// `mse`), optionally `init_weight` `[classes, d]` with `init_bias` `[classes]`, and `test_features` with
/// `test_labels`. Parameters `reg`, `steps` (default 500), `criterion`, `classes`.
///
/// # Errors
/// As [`LinearProbeConfig::fit_from`], and for missing inputs and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let features: Matrix = input(NAME, inputs, "features")?;
    check_table("classes", params.classes, features.columns())?;
    let weight = optional_input(inputs, "init_weight")?
        .unwrap_or_else(|| Matrix::zeros(params.classes, features.columns()));
    let bias = optional_input(inputs, "init_bias")?.unwrap_or_else(|| vec![0.0; params.classes]);
    let config =
        LinearProbeConfig { regularisation: params.reg, steps: params.steps, ..LinearProbeConfig::default() };
    match params.criterion {
        Criterion::CrossEntropy => {
            let labels: Vec<usize> = input(NAME, inputs, "labels")?;
            let target = Target::Classes { labels: &labels, classes: params.classes };
            let probe = config.fit_from(&features, target, &weight, &bias)?;
            let mut aux = layer(&probe, &weight);
            aux["train_accuracy"] = top_k_accuracy(&probe.scores(&features)?, &labels, 1)?.into();
            test_accuracy(&probe, inputs, &mut aux)?;
            Ok(outcome(&probe, aux))
        }
        Criterion::Mse => {
            let targets: Matrix = input(NAME, inputs, "targets")?;
            if targets.columns() != params.classes {
                let expected = format!("{} columns, the parameter `classes`", params.classes);
                return Err(Error::shape("targets", expected, format!("{} columns", targets.columns())));
            }
            let probe = config.fit_from(&features, Target::Values(&targets), &weight, &bias)?;
            Ok(outcome(&probe, layer(&probe, &weight)))
        }
    }
}

fn outcome(probe: &LinearProbe, aux: Value) -> Outcome {
    Outcome { loss: Some(probe.objective), aux, ..Outcome::default() }
}

fn layer(probe: &LinearProbe, initial: &Matrix) -> Value {
    let bias_mean = probe.bias.iter().sum::<f64>() / probe.bias.len() as f64;
    json!({
        "weight": Vec::from(probe.weight.clone()),
        "bias": probe.bias,
        "bias_centred": probe.bias.iter().map(|b| b - bias_mean).collect::<Vec<_>>(),
        "init_weight_class_mean": class_mean(initial),
        "loss_at_init": probe.initial_objective,
        "iterations": probe.iterations,
    })
}

fn class_mean(weight: &Matrix) -> Vec<f64> {
    let rows = weight.rows().max(1) as f64;
    (0..weight.columns()).map(|j| weight.iter_rows().map(|row| row[j]).sum::<f64>() / rows).collect()
}

fn test_accuracy(probe: &LinearProbe, inputs: &Value, aux: &mut Value) -> Result<()> {
    let Some(features) = optional_input::<Matrix>(inputs, "test_features")? else { return Ok(()) };
    let scores = probe.scores(&features)?;
    aux["test_predictions"] = predictions(&scores)?.into();
    if scores.columns() > 1 {
        aux["test_min_margin"] = scores.iter_rows().map(margin).fold(f64::INFINITY, f64::min).into();
    }
    if let Some(labels) = optional_input::<Vec<usize>>(inputs, "test_labels")? {
        aux["test_accuracy"] = top_k_accuracy(&scores, &labels, 1)?.into();
    }
    Ok(())
}

/// Difference of the scores of the best class and the second.
fn margin(scores: &[f64]) -> f64 {
    let [first, second] = two_largest(scores);
    first - second
}
