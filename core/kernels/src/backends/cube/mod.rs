//! CubeCL: wgpu, WebGPU, Vulkan and CUDA.

mod augmentation;
mod memory;
mod normalisation;
mod pairs;

use burn_cubecl::CubeBackend;

use crate::{ActivationOps, ConvolutionOps, RedundancyOps, RowOps, SinkhornOps, UniformityOps};

// Fusion makes one kernel of these and of what surrounds them.
impl ActivationOps for CubeBackend {}
impl RedundancyOps for CubeBackend {}
impl RowOps for CubeBackend {}
impl SinkhornOps for CubeBackend {}
// Products are what a convolution costs, and those are tuned already.
impl ConvolutionOps for CubeBackend {}
// Made of sums over pairs.
impl UniformityOps for CubeBackend {}
