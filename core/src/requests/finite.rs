//! Rejects results that are not finite; the error names the value of the request that most likely causes them.

use burn::tensor::DType;
use serde_json::Value;

use super::Request;
use super::outcome::Outcome;
use crate::error::{Error, Result, shown};

/// The outcome, if every number in it is finite.
///
/// # Errors
/// [`Error::Degenerate`] names the result that is not finite, and the parameter or input that is furthest from 1.
pub(super) fn checked(request: &Request, outcome: Outcome, dtype: DType) -> Result<Outcome> {
    let Some(result) = not_finite(&outcome) else { return Ok(outcome) };
    let mut furthest = None;
    visit(&request.params, "", &mut furthest);
    for (name, value) in &request.inputs {
        visit(value, name, &mut furthest);
    }
    Err(refused(&request.objective, &result, furthest, dtype))
}

/// The refusal of a result, with the number that most likely causes it.
pub(super) fn refused(objective: &str, result: &str, furthest: Option<Furthest>, dtype: DType) -> Error {
    let culprit = match furthest {
        Some(Furthest { place, value, .. }) => {
            format!("the number furthest from 1 is {} in `{place}`", shown(value))
        }
        None => "its inputs hold no number but 0".into(),
    };
    let remedy = match dtype {
        DType::F64 => "scale it towards 1",
        _ => "scale it towards 1, or compute in double precision",
    };
    Error::Degenerate {
        reason: format!("`{objective}`: {result} is not a finite number; {culprit}"),
        remedy: remedy.into(),
    }
}

/// The part of an outcome that is not finite, if any.
pub(super) fn not_finite(outcome: &Outcome) -> Option<String> {
    if outcome.loss.is_some_and(|loss| !loss.is_finite()) {
        return Some("the loss".into());
    }
    let gradient = outcome.gradients.iter().find(|(_, rows)| rows.first_not_finite().is_some());
    // In JSON a number that is not finite is null.
    gradient
        .map(|(name, _)| format!("the gradient of `{name}`"))
        .or_else(|| null(&outcome.aux, "aux").map(|place| format!("`{place}`")))
}

/// The path of the first null; a null document as a whole does not count.
fn null(value: &Value, place: &str) -> Option<String> {
    match value {
        Value::Array(values) => {
            values.iter().any(|value| value.is_null() || null(value, place).is_some()).then(|| place.into())
        }
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let place = format!("{place}.{name}");
            if value.is_null() { Some(place) } else { null(value, &place) }
        }),
        _ => None,
    }
}

/// A number that is many orders of magnitude from 1.
pub(super) struct Furthest {
    place: String,
    value: f64,
    distance: f64,
}

/// Searches a document for the number that is furthest from 1.
pub(super) fn visit(value: &Value, place: &str, furthest: &mut Option<Furthest>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| visit(value, place, furthest)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                visit(value, &place, furthest);
            }
        }
        Value::Number(number) => {
            number.as_f64().into_iter().for_each(|value| compare(value, place, furthest));
        }
        _ => {}
    }
}

/// Keeps the number that is furthest from 1; 0 does not count.
pub(super) fn compare(value: f64, place: &str, furthest: &mut Option<Furthest>) {
    let distance = value.abs().ln().abs();
    if value != 0.0 && furthest.as_ref().is_none_or(|previous| distance > previous.distance) {
        *furthest = Some(Furthest { place: place.into(), value, distance });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;
    use serde_json::json;

    use super::*;

    fn run(case: &Value, dtype: DType) -> Result<Outcome> {
        pollster::block_on(Request::parse(&case.to_string())?.run(&Device::flex(), dtype, None))
    }

    #[test]
    fn what_is_not_finite_names_the_input_that_is_too_large() {
        let case = json!({
            "objective": "cross-entropy",
            "inputs": { "logits": [[3e38, -3e38], [1.0, 2.0]], "labels": [1, 0] },
        });
        let error = run(&case, DType::F32).unwrap_err().to_string();
        assert!(error.contains("the loss") && error.contains("3e38 in `logits`"), "{error}");
        assert!(error.contains("double precision"), "{error}");
        assert_eq!(run(&case, DType::F64).unwrap().loss.map(|loss| loss / 3e38 > 0.99), Some(true));
    }

    #[test]
    fn nulls_are_found_in_any_depth() {
        assert_eq!(null(&json!({ "a": [[1.0], [2.0, null]] }), "aux").unwrap(), "aux.a");
        assert_eq!(null(&json!({ "a": { "b": null } }), "aux").unwrap(), "aux.a.b");
        assert_eq!(null(&json!({ "a": "nan", "b": [1, "inf"] }), "aux"), None);
        assert_eq!(null(&Value::Null, "aux"), None);
    }
}
