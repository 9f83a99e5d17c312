//! Gradients, written once for all backends.

mod activation;
mod normalisation;
mod redundancy;
mod rows;
mod sinkhorn;
