//! CubeCL: wgpu, WebGPU, Vulkan and CUDA.

mod augmentation;
mod convolution;
mod gemm;
mod memory;
mod normalisation;
mod pairs;
mod rows;

use burn_cubecl::CubeBackend;

use crate::{ActivationGradients, ActivationOps, RedundancyOps, SinkhornOps, UniformityOps};

// Fusion makes one kernel of these and the surrounding operations.
impl ActivationOps for CubeBackend {}
impl ActivationGradients for CubeBackend {}
impl RedundancyOps for CubeBackend {}
impl SinkhornOps for CubeBackend {}
// Composed of sums over pairs.
impl UniformityOps for CubeBackend {}
