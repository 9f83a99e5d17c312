//! CubeCL: wgpu, WebGPU, Vulkan and CUDA.

use burn_cubecl::CubeBackend;

use crate::ActivationOps;

// Fusion makes one kernel of these and of what surrounds them.
impl ActivationOps for CubeBackend {}
