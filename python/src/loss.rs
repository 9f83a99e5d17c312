//! Losses and their gradients, and the inputs of objectives.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use simile_core::error::Error;
use simile_core::loss;
use simile_core::requests::LossRequest;

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

/// The inputs of an objective among the given names, each with the form of its numbers: `integers`, `rows` or `condition`.
/// The other names are parameters.
///
/// # Errors
/// There is no such objective, or it has neither an input nor a parameter of one of the names.
#[pyfunction]
pub(crate) fn input_forms(
    objective: &str,
    names: Vec<String>,
) -> Result<BTreeMap<String, &'static str>, Fault> {
    let spec = loss::spec(objective)?;
    let is_known = |name: &str| spec.reads(name) || spec.parameter(name).is_some();
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let inputs = spec.inputs.iter().map(|input| input.name);
        let known = inputs.chain(spec.parameters.iter().map(|parameter| parameter.name));
        return Err(Error::unknown("argument", unknown, known).into());
    }
    let read = names.into_iter().filter(|name| spec.reads(name));
    Ok(read.map(|name| (name.clone(), Form::of(&name).name())).collect())
}

/// A loss to compute: the fields of `Request` in Python.
#[derive(Debug, FromPyObject)]
pub(crate) struct Request<'py> {
    objective: String,
    variant: Option<String>,
    /// The parameters, as JSON.
    params: String,
    /// Arrays by the name of the input.
    inputs: Bound<'py, PyDict>,
    unit_rows: bool,
    is_double: bool,
}

impl Request<'_> {
    /// The float type of the computation.
    fn dtype(&self) -> DType {
        if self.is_double { DType::F64 } else { DType::F32 }
    }

    /// The request as core takes it.
    ///
    /// # Errors
    /// The parameters are no JSON, or an input is no array of numbers in a form that it can have.
    fn read(self) -> Result<LossRequest, Fault> {
        let params = serde_json::from_str(&self.params).map_err(|error| Fault::Value(error.to_string()))?;
        let mut inputs = BTreeMap::new();
        for (name, array) in &self.inputs {
            let name: String = name.extract()?;
            let values = Array::of(&name, &array)?.input_values(self.inputs.py(), &name)?;
            inputs.insert(name, values);
        }
        let Self { objective, variant, unit_rows, .. } = self;
        Ok(LossRequest { objective, variant, params, inputs, unit_rows })
    }
}

/// The bytes of a gradient, and its shape.
type Gradient<'py> = (Bound<'py, PyByteArray>, [usize; 2]);

/// A loss, its gradients by the name of the input, and the warnings about it.
type Differentiated<'py> = (f64, BTreeMap<String, Gradient<'py>>, Vec<String>);

/// The loss of arrays and its gradients, each as bytes with a shape, in the float type of the request; and the warnings about them.
///
/// # Errors
/// The core rejects objective, parameters or inputs, or this process was forked from one that has computed.
#[pyfunction]
pub(crate) fn differentiate<'py>(py: Python<'py>, request: Request<'py>) -> PyResult<Differentiated<'py>> {
    refuse_forked()?;
    let dtype = request.dtype();
    let request = request.read()?;
    let (differentiated, warnings) = py.detach(|| {
        let differentiated = pollster::block_on(request.differentiate(&Device::flex(), dtype))?;
        Ok::<_, Fault>((differentiated, request.warnings()))
    })?;
    let gradients = differentiated.gradients.iter();
    let gradients = gradients.map(|(name, rows)| (name.clone(), bytes(py, rows, dtype))).collect();
    Ok((differentiated.loss, gradients, warnings.into_iter().map(|warning| warning.text).collect()))
}
