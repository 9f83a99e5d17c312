//! The bodies of each backend. On one that is not listed here an operation panics; Burn's fusion takes those of CubeCL or the default ones.

mod autodiff;
#[cfg(feature = "cube")]
mod cube;
#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "ndarray")]
mod ndarray;
