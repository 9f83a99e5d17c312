//! File formats, parsed from bytes.

pub mod cifar;
pub mod features;
pub mod idx;
pub mod imagenet32;
#[cfg(feature = "pictures")]
mod jpeg;
pub mod lines;
pub mod npy;
#[cfg(feature = "pictures")]
pub mod picture;
pub mod stl10;
