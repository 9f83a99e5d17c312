//! Encoders from images to embeddings, and the heads between an embedding and an objective.
//!
//! A step of your own training loop, with an encoder of this module, an objective of [`loss`](crate::loss) and an optimiser of Burn,
//! and the file of the encoder that it trains:
//!
//! ```
//! use burn::module::Module as _;
//! use burn::optim::{AdamConfig, GradientsParams};
//! use burn::tensor::{Device, Distribution, Tensor, read_sync};
//! use simile_core::loss::{self, NtXent, batch::Batch};
//! use simile_core::nn::ModelConfig;
//! use simile_core::nn::checkpoint::{Checkpoint, Metadata};
//! use simile_core::train::{Purpose, stream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // LeNet-5 for images [n, 3, 32, 32] and a head of 128 numbers, ready to train.
//! let device = Device::flex();
//! let network = ModelConfig::default();
//! let mut model = network.init(&device, &mut stream(0, Purpose::Initialisation, 0))?;
//! let mut adam = AdamConfig::new().init();
//!
//! // Both views of eight pictures (normalised in a program of yours), on an autodiff device: only there batch norm, which the head
//! // has, takes the statistics of its batch. In one pass they are those of both views.
//! let images = Tensor::<4>::random([16, 3, 32, 32], Distribution::Default, &device.clone().autodiff());
//! let projections = model.head.forward(model.encoder.forward(images));
//! let views = Batch::views(projections.clone().slice([0..8]), projections.slice([8..16]));
//! let gradients = loss::loss(&NtXent::default(), &views)?.backward();
//! let gradients = GradientsParams::from_grads(gradients, &model);
//! model = adam.step(1e-3, model, gradients);
//!
//! // A file that `simile embed` and the page take. In a page write `.await` in place of `read_sync`.
//! let metadata = Metadata::new(network.encoder, vec![0.5; 3], vec![0.25; 3]);
//! let checkpoint = Checkpoint { metadata, encoder: model.valid().encoder, head: None };
//! let file = read_sync(checkpoint.to_bytes())?;
//! assert_eq!(Metadata::from_bytes(&file)?.embedding_size, 84);
//! # Ok(())
//! # }
//! ```
//!
//! [`ModelConfig::init`] puts a network on the device with autodiff, [`EncoderConfig::init`] and
//! [`HeadConfig::init`](head::HeadConfig::init) on the device as it is given. They draw the first values from a generator of `rand` 0.10;
//! [`stream`](crate::train::stream) gives one.
//!
//! An [`Encoder`] is one of the networks of this module; [`Trainer`](crate::train::Trainer) and the algorithms of
//! [`algorithm`](crate::algorithm) train no others. For a module of your own call [`loss::loss`](crate::loss::loss) in your loop, as
//! above, with [`MovingAverage`](crate::algorithm::MovingAverage) and [`KeyQueue`](crate::algorithm::KeyQueue).

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
