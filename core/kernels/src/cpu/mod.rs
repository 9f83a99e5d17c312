//! Loops over numbers in the host's memory, slices in, slices out, on vector instructions: what the bodies for the CPU are
//! made of. Nothing here knows a tensor.

#[macro_use]
mod vectorised;

pub mod augment;
pub mod conv_norm;
pub mod convolution;
pub mod exp;
pub mod gemm;
pub mod geometry;
pub mod im2col;
mod lanes;
pub mod norm;
pub mod pairs;
pub mod parallel;
pub mod places;
pub mod pool;
pub mod redundancy;
pub mod resample;
pub mod rows;
pub mod scratch;
pub mod sinkhorn;
pub mod tanh;
pub mod tanh_pool;
pub mod uniformity;
pub mod upstream;
pub mod winograd;
