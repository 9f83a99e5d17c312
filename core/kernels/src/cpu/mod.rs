//! Loops over numbers in the host's memory, slices in, slices out, on vector instructions: what the bodies for the CPU are
//! made of. Nothing here knows a tensor.

pub mod augment;
pub mod exp;
pub mod gemm;
pub mod norm;
pub mod parallel;
pub mod redundancy;
pub mod resample;
pub mod rows;
pub mod sinkhorn;
pub mod tanh;
