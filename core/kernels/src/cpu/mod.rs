//! Vectorised loops over slices in the host's memory, from which the bodies for the CPU are composed. No code here
//! uses tensors.

#[macro_use]
mod vectorised;

pub mod augment;
pub mod conv_norm;
pub mod convolution;
pub mod correlation;
pub mod exp;
pub mod gemm;
pub mod geometry;
pub mod im2col;
mod lanes;
pub mod moments;
pub mod near;
pub mod norm;
pub mod pairs;
pub mod parallel;
pub mod places;
pub mod pool;
pub mod redundancy;
pub mod resample;
pub mod resize;
pub mod rows;
pub mod scratch;
pub mod sinkhorn;
pub mod tanh;
pub mod tanh_pool;
pub mod tsne;
pub mod uniformity;
pub mod upstream;
pub mod vectors;
pub mod winograd;
