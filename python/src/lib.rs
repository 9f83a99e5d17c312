//! Objectives and encoders of Simile for Python: the module `simile._native`, which the Python files beside it wrap.
//!
//! Numbers cross as buffers and not as text. An array of Python is copied, and a result is a `bytearray` that NumPy takes as it is.

mod arrays;
mod embed;
mod fault;
mod loss;
mod process;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::embed::Encoder;
    #[pymodule_export]
    use super::loss::{describe, differentiate, input_forms, names};

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
