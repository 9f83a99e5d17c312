//! The inputs of a run before its first step: images and their attributes, initial weights, and required files.

mod assemble;
pub(crate) mod context;
pub(crate) mod data_errors;
pub(crate) mod digests;
pub(crate) mod images;
pub(crate) mod order;
mod pictures;
pub(crate) mod prefetch;
pub(crate) mod prior;
pub(crate) mod required;
pub(crate) mod solves;
pub(crate) mod splits;
pub(crate) mod weights;
pub(crate) mod worker;
