//! Code for data sets of a few large files: the files of MNIST and of CIFAR, which several data sets share.

pub(in crate::data) mod cifar;
pub(in crate::data) mod mnist;

use std::path::Path;

use simile_core::data::formats::cifar::names;

use super::error::{DataError, Result};

/// The names of classes in a file, one per line.
///
/// # Errors
/// Names the file if it holds more or fewer.
pub(in crate::data) fn class_names(path: &Path, bytes: &[u8], expected: usize) -> Result<Vec<String>> {
    let names = names(&String::from_utf8_lossy(bytes));
    if names.len() == expected {
        return Ok(names);
    }
    let reason = format!("{} names, expected {expected}, one per line; get the file again", names.len());
    Err(DataError::Table { path: path.into(), reason })
}
