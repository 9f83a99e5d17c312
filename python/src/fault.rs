//! Errors of the core as exceptions of Python.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};

/// The reason why a function of the module failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Objective(#[from] simile_core::error::Error),
    #[error(transparent)]
    Dataset(#[from] simile_core::data::DatasetError),
    #[error("{0}")]
    Value(String),
    #[error("{0}")]
    File(String),
    #[error(transparent)]
    Python(#[from] PyErr),
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Python(error) => error,
            Fault::File(_) => PyOSError::new_err(fault.to_string()),
            _ => PyValueError::new_err(fault.to_string()),
        }
    }
}
