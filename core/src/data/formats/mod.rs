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

/// The pixels of an image that is stored as its red, green and blue planes.
fn interleaved(planes: &[u8]) -> impl Iterator<Item = u8> {
    let (red, others) = planes.split_at(planes.len() / 3);
    let (green, blue) = others.split_at(others.len() / 2);
    red.iter().zip(green).zip(blue).flat_map(|((&r, &g), &b)| [r, g, b])
}
