//! Gradients, written once for all backends.

mod activation;
mod redundancy;
mod rows;
mod sinkhorn;
mod normalisation;
