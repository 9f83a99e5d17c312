//! Gradients, written once for all backends.

mod activation;
