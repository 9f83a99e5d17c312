//! The numbers of a document as tensors, matrices and labels; each error names the input.

use burn::tensor::DType;
use serde_json::{Map, Value};

use crate::error::{Error, Result, read_by_name};
use crate::numeric::matrix::Matrix;

/// A list of rows; a plain list of numbers is one row.
pub(super) fn parse_rows(name: &str, value: &Value) -> Result<Matrix> {
    let is_list = value.get(0).is_some_and(Value::is_number);
    let value = if is_list { Value::Array(vec![value.clone()]) } else { value.clone() };
    let matrix: Matrix = serde_json::from_value(value)
        .map_err(|e| Error::shape(name, "a list of rows of numbers", e.to_string()))?;
    match matrix.first_not_finite() {
        Some(row) => Err(Error::NotFinite { input: name.into(), row }),
        None => Ok(matrix),
    }
}

/// Checks that the float type can represent the values.
pub(super) fn check_range(name: &str, matrix: &Matrix, dtype: DType) -> Result<()> {
    let beyond = |value: &f64| dtype != DType::F64 && value.abs() > f64::from(f32::MAX);
    match matrix.data().iter().position(beyond) {
        Some(at) => Err(Error::NotFinite { input: name.into(), row: at / matrix.columns().max(1) }),
        None => Ok(()),
    }
}

/// A list of rows; a plain list of numbers is one number for each sample.
pub(super) fn parse_condition(name: &str, value: &Value) -> Result<Matrix> {
    let condition = parse_rows(name, value)?;
    let is_list = value.get(0).is_some_and(Value::is_number);
    Ok(if is_list { Matrix::column(condition.data()) } else { condition })
}

/// Reads the parameters or the inputs of a case that is not an objective; `null` means none.
pub(super) fn parse_part<T: serde::de::DeserializeOwned>(part: &str, value: &Value) -> Result<T> {
    match value {
        Value::Null => read_by_name(part, &Value::Object(Map::new())),
        given => read_by_name(part, given),
    }
}

pub(super) fn parse_indices(name: &str, value: &Value) -> Result<Vec<usize>> {
    serde_json::from_value(value.clone())
        .map_err(|e| Error::shape(name, "a list of integers from 0", e.to_string()))
}
