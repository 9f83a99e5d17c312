//! The packages that others install: the archives of the crates, and the Python package.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod crates;
mod python;
