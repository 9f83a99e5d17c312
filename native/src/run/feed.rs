//! What a trainer is fed with: two views of each image of a batch, with what is known of it, and what its method sees
//! beside.

use anyhow::Result;
use burn::tensor::Device;
use simile_core::augment::Augmentation;
use simile_core::dataset::Dataset;
use simile_core::method::Views;
use simile_core::train::{
    BESIDE_SEED, Neighbourhoods, Sampler, Sampling, Trainer, ViewSource, WeightedSampler,
};

use super::context::Context;
use crate::console::line;
use crate::exit::usage;
use crate::recipe::Recipe;
use crate::recipe::sections::Arm;

/// Batches of the training images.
pub(super) struct Feed {
    sampler: Sampler,
    order: Order,
    context: Context,
    images: ViewSource,
    /// The images of a batch as they are, for a network that is not to see views.
    plain: Option<ViewSource>,
    beside: Option<Beside>,
}

/// Which images a step sees.
enum Order {
    Shuffled,
    Neighbourhoods(Neighbourhoods),
    Weighted(WeightedSampler),
}

/// Images whose classes are learned beside, in an order of their own.
struct Beside {
    sampler: Sampler,
    images: ViewSource,
}

impl Feed {
    /// Batches for an arm.
    ///
    /// # Errors
    /// A usage error if the data set lacks what the arm needs.
    pub(super) fn new(arm: &Arm, recipe: &Recipe, train: &Dataset, device: &Device) -> Result<Self> {
        let (samples, batch, seed) = (train.len(), recipe.train.batch, recipe.train.seed);
        let normalisation = recipe.normalisation().map_err(usage)?;
        let context = Context::new(&arm.objective, train, seed)?;
        context.note().into_iter().for_each(line);
        let order = match (arm.objective.neighbourhoods, arm.objective.oversample) {
            (Some(groups), _) => Order::Neighbourhoods(context.neighbourhoods(groups, batch, seed)?),
            (None, Some(most)) => Order::Weighted(context.weighted(most, batch, seed)?),
            (None, None) => Order::Shuffled,
        };
        let images = ViewSource::new(&train.images, recipe.augment.clone(), normalisation, device);
        let method = arm.method();
        let classified = recipe.classified.as_ref().filter(|_| method.takes_classified());
        let beside = classified.map(|section| -> Result<Beside> {
            let seed = seed ^ BESIDE_SEED;
            let sampling = Sampling { samples, batch: section.batch, drop_last: false, seed };
            Ok(Beside { sampler: Sampler::new(sampling)?, images: images.seen_by(section.augment.clone()) })
        });
        let as_they_are = Augmentation { size: recipe.augment.size, ..Augmentation::default() };
        Ok(Self {
            sampler: Sampler::new(Sampling { samples, batch, drop_last: false, seed })?,
            order,
            context,
            plain: method.takes_plain(&arm.objective.name).then(|| images.seen_by(as_they_are)),
            beside: beside.transpose()?,
            images,
        })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Batches in which every training image is seen once, as one to classify where such are drawn apart.
    pub(super) fn batches_per_epoch(&self) -> u64 {
        self.beside.as_ref().map_or(&self.sampler, |beside| &beside.sampler).batches_per_epoch()
    }

    /// One step of the trainer on its next batch.
    ///
    /// # Errors
    /// If the objective is not defined on the batch.
    pub(super) fn step(&mut self, trainer: &mut Trainer) -> Result<()> {
        let step = trainer.step_number();
        let indices = match &self.order {
            Order::Neighbourhoods(neighbourhoods) => neighbourhoods.batch(step),
            Order::Weighted(weighted) => weighted.batch(step),
            Order::Shuffled => self.sampler.batch(step).to_vec(),
        };
        let mut rng = trainer.rng();
        let (view_a, view_b) = self.images.pair(&indices, &mut rng)?;
        let (mut views, mut context) = (Views::new(view_a, view_b)?, self.context.of(&indices));
        if let Some(plain) = &self.plain {
            views = views.with_plain(plain.single(&indices, &mut rng)?)?;
        }
        if let Some(Beside { sampler, images }) = &mut self.beside {
            let indices = sampler.batch(step);
            views = views.with_classified(images.single(indices, &mut rng)?)?;
            context = self.context.with_classes(context, indices);
        }
        trainer.step_on(views, context)?;
        Ok(())
    }
}
