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
