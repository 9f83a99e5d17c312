//! Encoders from images to embeddings, and the heads between an embedding and an objective.

mod activations;
mod architecture;
pub mod checkpoint;
mod config;
pub mod dcgan;
mod design;
pub mod head;
pub mod initial;
pub mod layers;
pub mod lenet;
pub mod mlp;
mod model;
pub(crate) mod names;
mod operations;
pub mod resnet;
mod sections;
mod segments;
pub mod simple_conv;
pub mod vae;
pub mod vit;
mod work;

pub use self::activations::Activations;
pub use self::architecture::{Architecture, Encoder};
pub use self::config::EncoderConfig;
pub use self::model::Model;
pub use self::operations::Operation;
pub(crate) use self::sections::Section;
pub(crate) use self::segments::{Flow, Moments, PendingNorm, Segment, Step};
pub use self::work::Work;
