//! Arrays of Python as matrices, and back.

use burn::tensor::DType;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use simile_core::loss;
use simile_core::loss::spec::InputKind;
use simile_core::numeric::matrix::Matrix;
use simile_core::requests::InputValues;

use crate::fault::Fault;

/// An array of one of the types that the Python side makes of all others.
pub(crate) enum Array {
    Single(PyBuffer<f32>),
    Double(PyBuffer<f64>),
    Integers(PyBuffer<i64>),
}

impl Array {
    /// The buffer of an object.
    ///
    /// # Errors
    /// It has none, or one of another type.
    pub(crate) fn of(name: &str, object: &Bound<PyAny>) -> Result<Self, Fault> {
        let single = || PyBuffer::get(object).map(Self::Single);
        let double = || PyBuffer::get(object).map(Self::Double);
        let integers = || PyBuffer::get(object).map(Self::Integers);
        single()
            .or_else(|_| double())
            .or_else(|_| integers())
            .map_err(|_| Fault::Value(format!("`{name}` is not an array of float32, float64 or int64")))
    }

    /// Its numbers, in the form of the input of that name: an integer for each sample where the input takes integers, else rows.
    /// An array of one dimension is a number for each sample of a condition, and else one row.
    ///
    /// # Errors
    /// It is not contiguous, or has another number of dimensions; the error names the input.
    pub(crate) fn input_values(&self, py: Python, name: &str) -> Result<InputValues, Fault> {
        let form = Form::of(name);
        match (self, form) {
            (Self::Integers(buffer), Form::Integers) => match buffer.shape() {
                [_] | [_, 1] => Ok(InputValues::Integers(values(py, name, buffer)?)),
                shape => Err(Fault::Value(format!(
                    "`{name}` has shape {shape:?}, expected an integer for each sample"
                ))),
            },
            _ => {
                let (data, shape) = match self {
                    Self::Single(buffer) => (wide(values(py, name, buffer)?), buffer.shape()),
                    Self::Double(buffer) => (values(py, name, buffer)?, buffer.shape()),
                    Self::Integers(buffer) => (
                        values(py, name, buffer)?.into_iter().map(|value| value as f64).collect(),
                        buffer.shape(),
                    ),
                };
                rows(name, data, shape, form)
            }
        }
    }
}

/// The form of an input's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An integer for each sample.
    Integers,
    /// Rows; one dimension is one row.
    Rows,
    /// Rows on the host; one dimension is a number for each sample.
    Condition,
}

impl Form {
    /// The form of the input of that name.
    pub(crate) fn of(name: &str) -> Self {
        match loss::input_kind(name) {
            Some(InputKind::Integers | InputKind::Clusters) => Self::Integers,
            Some(InputKind::Host) => Self::Condition,
            Some(InputKind::Embeddings | InputKind::Rows) | None => Self::Rows,
        }
    }

    /// Its name in Python.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Integers => "integers",
            Self::Rows => "rows",
            Self::Condition => "condition",
        }
    }
}

/// True for an input that may be a matrix for each of several views, such as the queues of `swav`.
fn is_of_each_view(name: &str) -> bool {
    loss::input_kind(&format!("{name}_0")).is_some()
}

fn values<T: Element>(py: Python, name: &str, buffer: &PyBuffer<T>) -> Result<Vec<T>, Fault> {
    buffer.to_vec(py).map_err(|error| Fault::Value(format!("`{name}` cannot be read: {error}")))
}

fn wide(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

fn rows(name: &str, data: Vec<f64>, shape: &[usize], form: Form) -> Result<InputValues, Fault> {
    Ok(match (shape, form) {
        (&[length], Form::Condition) => InputValues::Rows(Matrix::new(length, 1, data)?),
        (&[length], _) => InputValues::Rows(Matrix::new(1, length, data)?),
        (&[rows, columns], _) => InputValues::Rows(Matrix::new(rows, columns, data)?),
        (&[views, rows, columns], _) if is_of_each_view(name) => {
            let size = (rows * columns).max(1);
            let queues = data.chunks(size).map(|queue| Matrix::new(rows, columns, queue.to_vec()));
            debug_assert_eq!(queues.len(), views);
            InputValues::Queues(queues.collect::<Result<_, _>>()?)
        }
        (shape, _) => {
            return Err(Fault::Value(format!("`{name}` has shape {shape:?}, expected rows of numbers")));
        }
    })
}

/// A gradient in the float type of the computation: its bytes and its shape.
pub(crate) fn bytes<'py>(
    py: Python<'py>,
    rows: &Matrix,
    dtype: DType,
) -> (Bound<'py, PyByteArray>, [usize; 2]) {
    let bytes: Vec<u8> = if dtype == DType::F64 {
        rows.data().iter().flat_map(|value| value.to_ne_bytes()).collect()
    } else {
        rows.data().iter().flat_map(|&value| (value as f32).to_ne_bytes()).collect()
    };
    (PyByteArray::new(py, &bytes), [rows.rows(), rows.columns()])
}
