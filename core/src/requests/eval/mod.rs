//! Evaluation on the numbers of a JSON document, one file for each kind of case: `simile loss` uses it if the case
//! is not an objective.

mod colour_mse;
mod kmeans;
mod knn;
mod linear_probe;
mod metrics;
mod roc_auc;
mod worst_group;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::requests::input::parse_part;
use crate::requests::outcome::Outcome;

/// Runs one case from its `params` and `inputs`.
type Runner = fn(&Value, &Value) -> Result<Outcome>;

/// Every kind of case of this folder with its runner, by the name in `objective`.
const RUNNERS: [(&str, Runner); 7] = [
    ("colour-mse", colour_mse::run),
    ("kmeans", kmeans::run),
    ("knn", knn::run),
    ("linear-probe", linear_probe::run),
    ("metrics", metrics::run),
    ("roc-auc", roc_auc::run),
    ("worst-group", worst_group::run),
];

/// The names that [`run`] accepts.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    RUNNERS.iter().map(|(name, _)| *name)
}

/// Runs a case, if `objective` is an evaluation. These have one variant, `released`.
///
/// # Errors
/// An input or parameter is unknown, missing or degenerate, or has the wrong shape; the error names it.
pub(super) fn run(
    objective: &str,
    variant: Option<&str>,
    params: &Value,
    inputs: &Map<String, Value>,
) -> Option<Result<Outcome>> {
    let (_, runner) = RUNNERS.iter().find(|(name, _)| *name == objective)?;
    Some(match variant {
        None | Some("released") => runner(params, &Value::Object(inputs.clone())),
        Some(other) => {
            Err(Error::Unknown { kind: "variant", name: other.into(), known: vec!["released".into()] })
        }
    })
}

/// Reads the parameters of a case; `null` or an absent field is an empty set.
fn parameters<T: DeserializeOwned>(params: &Value) -> Result<T> {
    parse_part("params", params)
}

/// Reads a required input.
fn input<T: DeserializeOwned>(objective: &str, inputs: &Value, name: &str) -> Result<T> {
    optional_input(inputs, name)?
        .ok_or_else(|| Error::MissingInput { objective: objective.into(), input: name.into() })
}

/// Reads an optional input.
fn optional_input<T: DeserializeOwned>(inputs: &Value, name: &str) -> Result<Option<T>> {
    match inputs.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let read = T::deserialize(value);
            read.map(Some)
                .map_err(|error| Error::shape(name, "numbers of the case schema", error.to_string()))
        }
    }
}

/// A number, or the string `"nan"` if there is none, because JSON has no such number.
fn number_or_nan(value: Option<f64>) -> Value {
    value.map_or_else(|| Value::from("nan"), Value::from)
}

#[cfg(test)]
mod vectors;
