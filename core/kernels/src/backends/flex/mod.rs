//! The CPU: contiguous `f32` uses the loops of [`crate::cpu`], everything else the default bodies.

mod activation;
mod augmentation;
mod convolution;
mod memory;
mod normalisation;
mod pairs;
mod redundancy;
mod rows;
mod sinkhorn;
mod uniformity;

use burn::backend::Flex;

// Its products keep all digits.
impl crate::GemmOps for Flex {}
