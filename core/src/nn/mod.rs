//! Encoders from images to embeddings, and the heads between an embedding and an objective.

mod activations;
mod architecture;
pub mod checkpoint;
mod config;
pub mod dcgan;
mod design;
mod gradient_sections;
pub mod head;
pub mod initial;
pub mod layers;
pub mod lenet;
pub mod mlp;
mod model;
mod model_config;
pub(crate) mod names;
mod norm_steps;
mod operations;
pub mod resnet;
pub mod simple_conv;
pub mod vae;
pub mod vit;
mod work;

pub use self::activations::Activations;
pub use self::architecture::{Architecture, Encoder};
pub use self::config::EncoderConfig;
pub(crate) use self::gradient_sections::Section;
pub use self::model::Model;
pub use self::model_config::ModelConfig;
pub(crate) use self::norm_steps::{Flow, Moments, PendingNorm, Segment, Step};
pub use self::operations::Operation;
pub use self::work::Work;

/// Numbers from -1 to 1 of a multiplicative hash, as in `tests/vectors/resnet.py` and `vit.py`.
#[cfg(test)]
fn noise(count: usize, seed: u32) -> Vec<f64> {
    let hashed = |i: u32| (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
    let mixed = |h: u32| (h ^ (h >> 15)).wrapping_mul(2_246_822_519);
    (0..count as u32).map(|i| f64::from(mixed(hashed(i))) / f64::from(1_u32 << 31) - 1.0).collect()
}
