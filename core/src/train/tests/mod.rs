//! Tests of [`super`]: the run that all take is here, and beside this file are those of steps, of resuming, of files, and of embedding.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod checkpoint;
mod embed;
mod resume;
mod step;

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;

use super::*;
use crate::algorithm::TrainingSet;
use crate::error::Error;
use crate::loss::batch::Batch;
use crate::optim::OptimizerConfig;
use crate::optim::schedule::Schedule;

const SAMPLES: usize = 12;

fn config(optimizer: OptimizerConfig) -> TrainerConfig {
    TrainerConfig {
        optimizer,
        schedule: Schedule::Cosine { warm_up: 0.2 },
        steps: 20,
        steps_per_epoch: 3,
        seed: 9,
        ..TrainerConfig::default()
    }
}

fn new(config: TrainerConfig) -> Trainer {
    Trainer::new(config, &training_set(), &Device::flex()).unwrap()
}

fn trainer(optimizer: OptimizerConfig) -> Trainer {
    new(config(optimizer))
}

fn training_set() -> TrainingSet {
    TrainingSet { labels: (0..SAMPLES).map(|i| i % 3).collect(), bias_count: 2 }
}

fn resume(config: TrainerConfig, state: &[u8]) -> Result<Trainer, TrainError> {
    Trainer::resume(config, &training_set(), &Device::flex(), state)
}

/// Stripes with a different period for each sample, with noise drawn from the trainer's generator.
fn views(trainer: &Trainer) -> (Tensor<4>, Tensor<4>) {
    let mut rng = trainer.rng();
    let mut view = || {
        let stripe = |at: usize| ((at % 1024) as f32 * (0.3 + (at / 3072) as f32 * 0.4)).sin();
        let pixels =
            (0..SAMPLES * 3072).map(|at| stripe(at) + rng.random_range(-0.3..0.3_f32)).collect::<Vec<_>>();
        Tensor::from_data(TensorData::new(pixels, [SAMPLES, 3, 32, 32]), &Device::flex())
    };
    (view(), view())
}

fn advance(trainer: &mut Trainer, steps: usize) {
    for _ in 0..steps {
        let (view_a, view_b) = views(trainer);
        if trainer.awaits_scores() {
            assert!(trainer.step(view_a.clone(), view_b.clone(), Batch::default()).is_err());
            let images = |range: std::ops::Range<usize>| Ok::<_, Error>(view_a.clone().slice([range]));
            let scores = pollster::block_on(score(trainer.model(), SAMPLES, 5, images)).unwrap();
            trainer.begin_training_stage(&scores).unwrap();
        }
        let context = Batch::default()
            .with_indices("labels", training_set().labels)
            .with_indices("bias", (0..SAMPLES).map(|i| i % 2).collect())
            .with_indices("samples", (0..SAMPLES).collect());
        trainer.step(view_a, view_b, context).unwrap();
    }
}

fn mean_loss(trainer: &mut Trainer) -> f64 {
    pollster::block_on(trainer.mean_loss()).unwrap().unwrap()
}
