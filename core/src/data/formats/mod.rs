//! File formats, parsed from bytes.

pub mod cifar;
pub mod features;
pub mod idx;
pub mod imagenet32;
pub mod lines;
pub mod npy;
pub mod stl10;
