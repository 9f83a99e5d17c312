//! Errors of the core as exceptions of Python.

use std::io;

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

/// The reason why a function of the module failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Objective(#[from] simile_core::error::Error),
    #[error(transparent)]
    Dataset(#[from] simile_core::data::DatasetError),
    #[error("{0}")]
    Value(String),
    #[error("{1}")]
    File(io::ErrorKind, String),
    #[error(transparent)]
    Python(#[from] PyErr),
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Python(error) => error,
            // `FileNotFoundError`, `PermissionError` or another `OSError`, by the kind.
            Fault::File(kind, reason) => io::Error::new(kind, reason).into(),
            _ => PyValueError::new_err(fault.to_string()),
        }
    }
}
