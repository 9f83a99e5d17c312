//! `metrics`: accuracies of given scores, overall, per class and in the cells of label × bias.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{input, number_or_nan};
use crate::error::{Error, Result};
use crate::eval::group_accuracy::GroupAccuracy;
use crate::eval::metrics::{ConfusionMatrix, predictions, top_k_accuracy};
use crate::numeric::matrix::Matrix;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "metrics";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    classes: usize,
    biases: usize,
}

/// Inputs `logits` `[n, classes]`, `labels` and `bias` `[n]`; parameters `classes` and `biases`. Empty cells
/// and classes are the string `"nan"`.
///
/// # Errors
/// [`Error::Shape`] if inputs do not match, and for missing inputs and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    let logits: Matrix = input(NAME, inputs, "logits")?;
    let labels: Vec<usize> = input(NAME, inputs, "labels")?;
    let bias: Vec<usize> = input(NAME, inputs, "bias")?;
    if logits.columns() != params.classes {
        let expected = format!("{} columns, the parameter `classes`", params.classes);
        return Err(Error::shape("logits", expected, format!("{} columns", logits.columns())));
    }
    let predicted = predictions(&logits)?;
    let confusion = ConfusionMatrix::new(&predicted, &labels, params.classes)?;
    let groups = GroupAccuracy::new(&predicted, &labels, &bias, params.classes, params.biases)?;
    let cells: Vec<Vec<Value>> =
        groups.accuracy().into_iter().map(|row| row.into_iter().map(number_or_nan).collect()).collect();
    let classes: Vec<Value> = confusion.class_accuracy().into_iter().map(number_or_nan).collect();
    let aux = json!({
        "top1": top_k_accuracy(&logits, &labels, 1)?,
        "top5": top_k_accuracy(&logits, &labels, 5)?,
        "unbiased_accuracy": groups.unbiased_accuracy(),
        "worst_group_accuracy": groups.worst().2,
        "mean_per_class_accuracy": confusion.mean_class_accuracy(),
        "worst_class_accuracy": confusion.worst_class_accuracy(),
        "cell_accuracy": cells,
        "cell_count": groups.counts(),
        "per_class_accuracy": classes,
    });
    Ok(Outcome { aux, ..Outcome::default() })
}
