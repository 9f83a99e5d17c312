//! Alignment and uniformity on the unit sphere, with and without a kernel prior.

pub mod align_uniform;
pub mod decoupled_uniformity;
pub mod kernel_decoupled_uniformity;
mod potential;
