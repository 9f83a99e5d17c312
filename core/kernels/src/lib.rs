//! Operations that contrastive learning needs and [Burn](burn) lacks, as extensions of its backends: any program on Burn's
//! [`Tensor`](burn::tensor::Tensor) can call them, on any device, with gradients.
//!
//! Every operation has a default body of plain Burn operations. A backend that can do better has a body of its own:
//!
//! | operation | CPU (Flex) | CubeCL (wgpu, WebGPU, Vulkan, CUDA) | other |
//! |---|---|---|---|
//! | [`tanh`], [`sigmoid`] | vector instructions | plain | plain |
//!
//! Gradients are written by hand, once for all backends, and are first derivatives only.
//!
//! A program names its backends in the features of this crate (`flex`, `ndarray`, `wgpu`, `vulkan`, `cuda`, and `fusion`
//! with the last three). An operation panics on a backend that Burn has and this crate was not told of.

mod backends;
pub mod cpu;
mod ops;

pub use ops::activation::{ActivationOps, sigmoid, tanh};
