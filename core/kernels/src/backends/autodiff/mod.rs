//! Gradients, implemented once for all backends.

mod activation;
mod augmentation;
mod convolution;
mod normalisation;
mod pairs;
mod product;
mod record;
mod redundancy;
mod rows;
mod sinkhorn;
mod uniformity;
