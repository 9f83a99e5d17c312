//! The numbers of a document as tensors, matrices and labels; each error names the input.

use burn::tensor::DType;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::error::{Error, Result, read_by_name, without_types};
use crate::numeric::matrix::Matrix;

/// A list of rows; a plain list of numbers is one row.
pub(super) fn parse_rows(name: &str, value: &Value) -> Result<Matrix> {
    let is_list = value.get(0).is_some_and(Value::is_number);
    let value = if is_list { Value::Array(vec![value.clone()]) } else { value.clone() };
    let lengths: Vec<usize> =
        value.as_array().into_iter().flatten().filter_map(|row| Some(row.as_array()?.len())).collect();
    if let Some(row) = lengths.iter().position(|length| *length != lengths[0]) {
        let found_text = format!("{} numbers in row {row}", lengths[row]);
        return Err(Error::shape(name, format!("{} as in the first row", lengths[0]), found_text));
    }
    let matrix = Matrix::deserialize(&value).map_err(|error| {
        let found_text = first_of_another_form(&value).map(in_words);
        let found_text = found_text.unwrap_or_else(|| without_types(&error.to_string()));
        Error::shape(name, "a list of rows of numbers", found_text)
    })?;
    match matrix.first_not_finite() {
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
        None => Ok(matrix),
    }
}

/// The first part of a document that keeps it from being a list of rows of numbers.
fn first_of_another_form(value: &Value) -> Option<&Value> {
    let Value::Array(rows) = value else { return Some(value) };
    rows.iter().find_map(|row| match row {
        Value::Array(numbers) => numbers.iter().find(|number| !number.is_number()),
        other => Some(other),
    })
}

/// Longest value that messages write in full, in characters.
const LONGEST: usize = 40;

/// A part of a document in a few words.
fn in_words(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list in the place of a number".to_owned(),
        other => {
            let text = other.to_string();
            let end = if text.chars().nth(LONGEST).is_some() { "…" } else { "" };
            format!("{text:.LONGEST$}{end}")
        }
    }
}

/// Checks that the float type can represent the finite values.
///
/// # Errors
/// [`Error::TooLarge`] names the first value that it cannot.
pub(super) fn check_range(name: &str, matrix: &Matrix, dtype: DType) -> Result<()> {
    let beyond = |value: &f64| dtype != DType::F64 && value.abs() > f64::from(f32::MAX);
    match matrix.data().iter().position(beyond) {
        Some(at) => {
            let (row, value) = (at / matrix.columns().max(1), matrix.data()[at]);
            Err(Error::TooLarge { input: name.into(), row, value })
        }
        None => Ok(()),
    }
}

/// A list of rows; a plain list of numbers is one number for each sample.
pub(super) fn parse_condition(name: &str, value: &Value) -> Result<Matrix> {
    let condition = parse_rows(name, value)?;
    let is_list = value.get(0).is_some_and(Value::is_number);
    Ok(if is_list { Matrix::column(condition.data()) } else { condition })
}

/// Reads the parameters or the inputs of a request that is not an objective; `null` means none.
pub(super) fn parse_part<T: serde::de::DeserializeOwned>(part: &str, value: &Value) -> Result<T> {
    match value {
        Value::Null => read_by_name(part, &Value::Object(Map::new())),
        value => read_by_name(part, value),
    }
}

/// A list of classes or other names of groups; programs also write them as `1.0` or `true`.
pub(super) fn parse_integers(name: &str, value: &Value) -> Result<Vec<i64>> {
    let fail = |value: &Value| Error::shape(name, "a list of integers", value.to_string());
    let integer = |value: &Value| match value {
        Value::Bool(flag) => Ok(i64::from(*flag)),
        // Larger integers are not exact in a float.
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|x| x.fract() == 0.0 && x.abs() <= 9e15);
            whole.map(|x| x as i64).ok_or_else(|| fail(value))
        }
        value => value.as_i64().ok_or_else(|| fail(value)),
    };
    value.as_array().ok_or_else(|| fail(value))?.iter().map(integer).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_is_no_number_is_shown() {
        for (value, found) in [
            (json!([[1.0, null]]), "null"),
            (json!([[1.0], "a"]), "\"a\""),
            (json!([[1.0, [2.0]]]), "a list in the place of a number"),
            (json!({ "rows": 1 }), "an object"),
            (json!(null), "null"),
        ] {
            let error = parse_rows("view_a", &value).unwrap_err().to_string();
            assert_eq!(error, format!("`view_a` has {found}, expected a list of rows of numbers"));
        }
    }

    #[test]
    fn a_long_value_is_cut_and_says_so() {
        let in_quotes = |letters: usize| in_words(&json!("é".repeat(letters)));
        assert_eq!(in_quotes(38), format!("\"{}\"", "é".repeat(38)));
        assert_eq!(in_quotes(39), format!("\"{}…", "é".repeat(39)));
    }
}
