//! The encoder of a run in a file: where a run begins with one, and what it leaves.

use std::sync::Arc;

use super::*;
use crate::nn::checkpoint::{Checkpoint, Metadata, Weights};
use crate::nn::head::HeadConfig;
use crate::nn::{Architecture, EncoderConfig};

#[test]
fn a_run_starts_from_given_weights() {
    let mut before = trainer(OptimizerConfig::default());
    advance(&mut before, 2);
    let metadata = Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3]);
    let file = pollster::block_on(before.checkpoint(metadata).to_bytes()).unwrap();
    let (weights, _) = Weights::from_encoder_file(&file, &EncoderConfig::default()).unwrap();
    let started =
        TrainerConfig { weights: Some(Arc::new(weights)), seed: 77, ..config(OptimizerConfig::default()) };
    let trainer = new(started.clone());
    let values = |trainer: &Trainer| -> Vec<f32> {
        let tensors = crate::nn::checkpoint::flattened("", trainer.encoder());
        tensors
            .into_iter()
            .flat_map(|tensor| tensor.values.into_data().iter::<f32>().collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(values(&trainer), values(&before));
    let wide = EncoderConfig { channels: 1, ..EncoderConfig::default() };
    assert!(Weights::from_encoder_file(&file, &wide).unwrap_err().to_string().contains("channels"));
    let unfit = TrainerConfig { encoder: wide, ..started };
    let error = Trainer::new(unfit, &training_set(), &Device::flex()).unwrap_err();
    assert!(error.to_string().contains("conv1.weight"), "{error}");
}

/// The file had the settings that the caller named, and could not be read.
#[test]
fn a_checkpoint_has_the_settings_of_the_run() {
    let trainer = trainer(OptimizerConfig::default());
    let other = EncoderConfig { name: Architecture::Mlp, input_size: 28, ..EncoderConfig::default() };
    let mut metadata = Metadata::new(other, vec![0.0; 3], vec![1.0; 3]);
    metadata.head = Some(HeadConfig { output: 7, ..HeadConfig::default() });
    let file = pollster::block_on(trainer.checkpoint(metadata).to_bytes()).unwrap();
    let read = Checkpoint::from_bytes(&file, &Device::flex()).unwrap().metadata;
    let TrainerConfig { encoder, head, .. } = trainer.config();
    assert_eq!((read.embedding_size, read.input_size), (84, 32));
    assert_eq!((&read.encoder, read.head.as_ref()), (encoder, Some(head)));
}
