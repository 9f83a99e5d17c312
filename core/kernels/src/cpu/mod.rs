//! Vectorised loops over slices in the host's memory: private ones, of which the CPU's bodies are composed, and public ones that
//! Simile's core calls for numbers that are not tensors.
#![cfg_attr(not(feature = "flex"), allow(dead_code, reason = "only Flex's bodies call most private loops"))]

#[macro_use]
mod vectorised;

pub(crate) mod augment;
pub(crate) mod conv_norm;
pub(crate) mod convolution;
mod correlation;
pub mod exp;
mod gemm;
pub(crate) mod geometry;
mod im2col;
mod lanes;
pub(crate) mod moments;
pub mod near;
pub(crate) mod norm;
pub(crate) mod pairs;
pub mod parallel;
pub mod pixels;
pub(crate) mod pool;
pub(crate) mod redundancy;
pub(crate) mod resample;
pub mod resize;
pub(crate) mod rows;
mod scratch;
pub(crate) mod sinkhorn;
pub(crate) mod tanh;
pub(crate) mod tanh_pool;
pub mod tsne;
mod turn;
pub(crate) mod uniformity;
mod upstream;
pub mod vectors;
mod winograd;
