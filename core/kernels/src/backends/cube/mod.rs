//! CubeCL: wgpu, WebGPU, Vulkan and CUDA.

mod augmentation;
mod memory;
mod normalisation;
mod pairs;
mod rows;

use burn_cubecl::CubeBackend;

use crate::{ActivationOps, ConvolutionOps, RedundancyOps, SinkhornOps, UniformityOps};

// Fusion makes one kernel of these and the surrounding operations.
impl ActivationOps for CubeBackend {}
impl RedundancyOps for CubeBackend {}
impl SinkhornOps for CubeBackend {}
// Products dominate the cost of a convolution, and CubeCL's are tuned already.
impl ConvolutionOps for CubeBackend {}
// Composed of sums over pairs.
impl UniformityOps for CubeBackend {}
