//! Every operation on every compiled backend: value and gradient against Burn's own operations in `f64`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails says where")]

mod devices;

mod activation;
mod augmentation;
mod convolution;
mod gemm;
mod normalisation;
mod pairs;
mod redundancy;
mod rows;
mod shapes;
mod sinkhorn;
mod uniformity;
