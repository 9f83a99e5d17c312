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

use crate::error::{Error, Result, without_types};

/// Reads a required input.
fn input<T: DeserializeOwned>(objective: &str, inputs: &Value, name: &str) -> Result<T> {
    optional_input(inputs, name)?
        .ok_or_else(|| Error::MissingInput { objective: objective.into(), input: name.into() })
}

/// Reads an optional input.
fn optional_input<T: DeserializeOwned>(inputs: &Value, name: &str) -> Result<Option<T>> {
    match inputs.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::deserialize(value)
            .map(Some)
            .map_err(|error| Error::parameter(name, "not understood", &without_types(&error.to_string()))),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_input_of_another_type_is_named_with_the_expected_one() {
        let inputs = json!({ "labels": [0, -1], "flag": 1 });
        let labels = input::<Vec<usize>>("knn", &inputs, "labels").unwrap_err().to_string();
        let expected =
            "`labels` is not understood, invalid value: integer `-1`, expected an integer, 0 or more";
        assert_eq!(labels, expected);
        let flag = optional_input::<bool>(&inputs, "flag").unwrap_err().to_string();
        assert_eq!(flag, "`flag` is not understood, invalid type: integer `1`, expected true or false");
    }
}
