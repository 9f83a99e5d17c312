//! Losses and their gradients, and the inputs of objectives.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use serde_json::{Value, json};
use simile_core::loss;
use simile_core::loss::spec::InputKind;
use simile_core::requests::{InputValues, LossRequest};

use crate::arrays::{Array, Form, bytes};
use crate::fault::Fault;
use crate::process::refuse_forked;

/// The names of all objectives.
#[pyfunction]
pub(crate) fn names() -> Vec<&'static str> {
    loss::names().collect()
}

/// The description of an objective, as JSON.
///
/// # Errors
/// There is none of that name.
#[pyfunction]
pub(crate) fn describe(objective: &str) -> Result<String, Fault> {
    let spec = loss::spec(objective)?;
    serde_json::to_string(spec).map_err(|error| Fault::Value(error.to_string()))
}

/// The inputs of an objective among the given names, each with the kind of its numbers: `embeddings`, `rows`, `integers`,
/// `clusters` or `host`.
///
/// # Errors
/// There is no such objective.
#[pyfunction]
pub(crate) fn kinds(objective: &str, names: Vec<String>) -> Result<BTreeMap<String, String>, Fault> {
    let spec = loss::spec(objective)?;
    let read = names.into_iter().filter(|name| spec.reads(name));
    read.map(|name| {
        let kind = loss::input_kind(&name).unwrap_or(InputKind::Embeddings);
        let kind = serde_json::from_value(json!(kind)).map_err(|error| Fault::Value(error.to_string()))?;
        Ok((name, kind))
    })
    .collect()
}

/// The bytes of a gradient, and its shape.
type Gradient<'py> = (Bound<'py, PyByteArray>, [usize; 2]);

/// A loss, its gradients by the name of the input, and the warnings about it.
type Differentiated<'py> = (f64, BTreeMap<String, Gradient<'py>>, Vec<String>);

/// The loss of arrays and its gradients, each as bytes with a shape, in `float64` if `is_double`; and the warnings about them.
///
/// # Errors
/// The core rejects objective, parameters or inputs, or this process was forked from one that has computed.
#[pyfunction]
pub(crate) fn differentiate<'py>(
    py: Python<'py>,
    objective: &str,
    variant: Option<String>,
    params: &str,
    inputs: &Bound<'py, PyDict>,
    unit_rows: bool,
    is_double: bool,
) -> PyResult<Differentiated<'py>> {
    refuse_forked()?;
    let params: Value = serde_json::from_str(params).map_err(|error| Fault::Value(error.to_string()))?;
    let mut values: BTreeMap<String, InputValues> = BTreeMap::new();
    for (name, array) in inputs {
        let name: String = name.extract()?;
        let array = Array::of(&name, &array)?;
        values.insert(name.clone(), array.input_values(py, &name, form(&name))?);
    }
    let request = LossRequest { objective: objective.into(), variant, params, inputs: values, unit_rows };
    let dtype = if is_double { DType::F64 } else { DType::F32 };
    let (differentiated, warnings) = py
        .detach(|| {
            let differentiated = pollster::block_on(request.differentiate(&Device::flex(), dtype));
            differentiated.map(|differentiated| (differentiated, request.warnings()))
        })
        .map_err(Fault::from)?;
    let gradients = differentiated.gradients.iter();
    let gradients = gradients.map(|(name, rows)| (name.clone(), bytes(py, rows, is_double))).collect();
    Ok((differentiated.loss, gradients, warnings))
}

fn form(name: &str) -> Form {
    match loss::input_kind(name) {
        Some(InputKind::Integers | InputKind::Clusters) => Form::Integers,
        Some(InputKind::Host) => Form::Condition,
        Some(InputKind::Embeddings | InputKind::Rows) | None => Form::Rows,
    }
}
