//! Gradients, written once for all backends.

mod activation;
mod augmentation;
mod convolution;
mod normalisation;
mod redundancy;
mod rows;
mod sinkhorn;
