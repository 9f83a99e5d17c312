//! The process that computes, and its signals.

use std::process;
use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Refuses a process that was forked from one that has computed: the threads of the computation exist in that one alone, and a
/// computation here could wait for them for ever.
///
/// # Errors
/// `RuntimeError`, with what to do.
pub(crate) fn refuse_forked() -> PyResult<()> {
    static FIRST: OnceLock<u32> = OnceLock::new();
    let (first, own) = (*FIRST.get_or_init(process::id), process::id());
    if first == own {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!(
        "process {own} was forked from process {first} after simile had computed there, whose threads it does not have; start \
         processes by the method `spawn` (`multiprocessing.get_context(\"spawn\")`, or `multiprocessing_context=\"spawn\"` of a \
         DataLoader)"
    )))
}

/// The exception of a signal that has arrived, such as `KeyboardInterrupt`. For a thread that is detached from Python.
pub(crate) fn check_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
