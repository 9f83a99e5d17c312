//! CubeCL kernels: what the bodies for GPUs launch.

pub(crate) mod augment;
pub(crate) mod norm;
pub(crate) mod pairs;
