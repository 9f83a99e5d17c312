//! `worst-group`: accuracy in the four groups of a binary label and a binary sensitive attribute.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{input, number_or_nan};
use crate::error::{Error, Result};
use crate::eval::group_accuracy::GroupAccuracy;
use crate::eval::metrics::{cross_entropy, predictions, top_k_accuracy};
use crate::numeric::matrix::Matrix;
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

pub(in crate::requests) const NAME: &str = "worst-group";
const GROUP: &str = "2*label + sensitive";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(default)]
    group: Option<String>,
    /// The released loop runs in batches, but weights its mean by their size: the result does not depend on it.
    #[serde(default)]
    batch: Option<usize>,
}

/// Inputs `logits` `[n, 2]`, `labels` and `bias` `[n]` of 0 and 1. The group of a sample is `2 label + bias`;
/// `loss` is the mean cross-entropy over all samples. Parameters `group` (only that rule) and `batch`
/// (without effect).
///
/// # Errors
/// [`Error::Shape`] if inputs do not match, and for missing inputs, another rule and unknown parameters.
pub(crate) fn run(params: &Value, inputs: &Value) -> Result<Outcome> {
    let params: Params = parse_part("params", params)?;
    if let Some(group) = params.group.filter(|group| group != GROUP) {
        return Err(Error::parameter("group", group, &format!("only `{GROUP}` is defined")));
    }
    if params.batch == Some(0) {
        return Err(Error::parameter("batch", 0, "expected at least 1 sample"));
    }
    let logits: Matrix = input(NAME, inputs, "logits")?;
    let labels: Vec<usize> = input(NAME, inputs, "labels")?;
    let bias: Vec<usize> = input(NAME, inputs, "bias")?;
    if logits.columns() != 2 {
        return Err(Error::shape("logits", "2 columns", format!("{} columns", logits.columns())));
    }
    let groups = GroupAccuracy::new(&predictions(&logits)?, &labels, &bias, 2, 2)?;
    let (label, sensitive, worst) = groups.worst();
    let percent: Vec<Value> =
        groups.accuracy().into_iter().flatten().map(|cell| number_or_nan(cell.map(|a| 100.0 * a))).collect();
    let aux = json!({
        "accuracy_percent": 100.0 * top_k_accuracy(&logits, &labels, 1)?,
        "worst_group_percent": 100.0 * worst,
        "worst_group": 2 * label + sensitive,
        "group_accuracy_percent": percent,
    });
    Ok(Outcome { loss: Some(cross_entropy(&logits, &labels)?), aux, ..Outcome::default() })
}
