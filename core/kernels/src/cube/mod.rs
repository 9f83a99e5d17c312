//! CubeCL kernels, launched by the bodies for GPUs.
#![allow(
    clippy::assign_op_pattern,
    clippy::manual_abs_diff,
    reason = "a kernel's language has fewer operations than the one around it"
)]

pub(crate) mod augment;
mod colour;
pub(crate) mod norm;
pub(crate) mod pairs;
pub(crate) mod rows;
pub(crate) mod unfold;
