//! CubeCL kernels: what the bodies for GPUs launch.

pub(crate) mod norm;
