//! Definitions of the operations: one trait for each family, with default bodies in plain Burn, and functions on
//! tensors.
#![allow(deprecated, reason = "Burn 0.22 retires ndarray and still has it; every trait names it")]

pub(crate) mod activation;
pub(crate) mod augmentation;
pub(crate) mod convolution;
pub(crate) mod gemm;
pub(crate) mod normalisation;
pub(crate) mod optional;
pub(crate) mod pairs;
pub(crate) mod precision;
pub(crate) mod redundancy;
pub(crate) mod rows;
mod shapes;
pub(crate) mod sinkhorn;
pub(crate) mod uniformity;
