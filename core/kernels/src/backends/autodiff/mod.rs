//! Gradients, written once for all backends.

mod activation;
mod augmentation;
mod normalisation;
mod redundancy;
mod rows;
mod sinkhorn;
