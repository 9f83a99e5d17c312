//! A training step: LeNet-5 with the released head, NT-Xent, Adam, on two views of a batch of 32 x 32 colour images.

use anyhow::Result;
use burn::tensor::{Device, Tensor, TensorData};
use simile_core::algorithm::TrainingSet;
use simile_core::loss::batch::Batch;
use simile_core::optim::OptimizerConfig;
use simile_core::optim::rules::Adam;
use simile_core::train::{Trainer, TrainerConfig};

use crate::inputs::values;

/// The name in the table, and for the peer.
pub(crate) const NAME: &str = "training step of LeNet-5";
pub(crate) const BATCH: usize = 256;

/// A closure that takes one step.
pub(crate) fn step() -> Result<impl FnMut() -> Result<()>> {
    let config = TrainerConfig {
        optimizer: OptimizerConfig::Adam(Adam::default()),
        steps: 1000,
        steps_per_epoch: 100,
        ..TrainerConfig::default()
    };
    let device = Device::flex();
    let mut trainer = Trainer::new(config, &TrainingSet::default(), &device)?;
    let view = |seed| {
        let data = TensorData::new(values(BATCH * 3 * 32 * 32, seed), [BATCH, 3, 32, 32]);
        Tensor::<4>::from_data(data, &device)
    };
    let (view_a, view_b) = (view(1), view(2));
    Ok(move || {
        let loss = trainer.step(view_a.clone(), view_b.clone(), Batch::default())?;
        drop(loss.into_data());
        Ok(())
    })
}
