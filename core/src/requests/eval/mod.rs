//! Evaluation on the numbers of a JSON document, one file for each kind of request.

pub(super) mod colour_mse;
pub(super) mod kmeans;
pub(super) mod knn;
pub(super) mod linear_probe;
pub(super) mod metrics;
pub(super) mod roc_auc;
pub(super) mod worst_group;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::requests::input::parse_part;

/// Reads the parameters of a request; `null` or an absent field is an empty set.
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

/// The largest and the second largest number; minus infinity for one that does not exist.
fn two_largest(numbers: &[f64]) -> [f64; 2] {
    numbers.iter().fold([f64::NEG_INFINITY; 2], |[first, second], &number| {
        if number > first { [number, first] } else { [first, second.max(number)] }
    })
}

/// A number, or the string `"nan"` if there is none, because JSON has no such number.
fn number_or_nan(value: Option<f64>) -> Value {
    value.map_or_else(|| Value::from("nan"), Value::from)
}

#[cfg(test)]
mod vectors;
