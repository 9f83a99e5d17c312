//! What a trainer is fed with: two views of each image of a batch, with what is known of it.

use anyhow::Result;
use burn::tensor::Device;
use simile_core::dataset::Dataset;
use simile_core::train::{Neighbourhoods, Sampler, Sampling, Trainer, ViewSource};

use super::context::Context;
use crate::console::line;
use crate::exit::usage;
use crate::recipe::Recipe;
use crate::recipe::sections::Arm;

/// Batches of the training images.
pub(super) struct Feed {
    sampler: Sampler,
    neighbourhoods: Option<Neighbourhoods>,
    context: Context,
    images: ViewSource,
}

impl Feed {
    /// Batches for an arm.
    ///
    /// # Errors
    /// A usage error if the data set lacks what the arm needs.
    pub(super) fn new(arm: &Arm, recipe: &Recipe, train: &Dataset, device: &Device) -> Result<Self> {
        let (batch, seed) = (recipe.train.batch, recipe.train.seed);
        let normalisation = recipe.normalisation().map_err(usage)?;
        let context = Context::new(&arm.objective, train, seed)?;
        context.note().into_iter().for_each(line);
        let groups = arm.objective.neighbourhoods;
        Ok(Self {
            sampler: Sampler::new(Sampling { samples: train.len(), batch, drop_last: false, seed })?,
            neighbourhoods: groups.map(|groups| context.neighbourhoods(groups, batch, seed)).transpose()?,
            context,
            images: ViewSource::new(&train.images, recipe.augment.clone(), normalisation, device),
        })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn batches_per_epoch(&self) -> u64 {
        self.sampler.batches_per_epoch()
    }

    /// One step of the trainer on its next batch.
    ///
    /// # Errors
    /// If the objective is not defined on the batch.
    pub(super) fn step(&mut self, trainer: &mut Trainer) -> Result<()> {
        let step = trainer.step_number();
        let indices = match &self.neighbourhoods {
            Some(neighbourhoods) => neighbourhoods.batch(step),
            None => self.sampler.batch(step).to_vec(),
        };
        let (view_a, view_b) = self.images.pair(&indices, &mut trainer.rng())?;
        trainer.step(view_a, view_b, self.context.of(&indices))?;
        Ok(())
    }
}
