//! The batches of a trainer: two views of each image, with its labels and conditions, and the further inputs of its
//! method.

use anyhow::Result;
use burn::tensor::Device;
use simile_core::algorithm::Views;
use simile_core::augment::Augmentation;
use simile_core::data::Dataset;
use simile_core::stage::Stage;
use simile_core::train::{
    BESIDE_SEED, ConditionGroups, Sampler, Sampling, Trainer, ViewSource, WeightedSampler,
};

use crate::config::Recipe;
use crate::config::sections::Arm;
use crate::console::line;
use crate::exit::usage;
use crate::experiment::prepare::context::Context;

/// Batches of the training images.
pub(crate) struct DataLoader {
    sampler: Sampler,
    order: Order,
    context: Context,
    images: ViewSource,
    /// The images of a batch without augmentation, for a network that does not see views.
    plain: Option<ViewSource>,
    beside: Option<Beside>,
}

/// The order of the images.
enum Order {
    Shuffled,
    ConditionGroups(ConditionGroups),
    Weighted(WeightedSampler),
}

/// Images that are classified beside the objective, in a separate order.
struct Beside {
    sampler: Sampler,
    images: ViewSource,
}

impl DataLoader {
    /// Batches for an arm.
    ///
    /// # Errors
    /// A usage error if the data set lacks a variable that the arm needs.
    pub(crate) fn new(arm: &Arm, recipe: &Recipe, train: &Dataset, device: &Device) -> Result<Self> {
        let (samples, batch, seed) = (train.len(), recipe.train.batch, recipe.train.seed);
        let normalisation = recipe.normalisation().map_err(usage)?;
        let context = Context::new(&arm.objective, train, seed)?;
        context.note().into_iter().for_each(line);
        let order = match (arm.objective.neighbourhoods, arm.objective.oversample) {
            (Some(groups), _) => Order::ConditionGroups(context.neighbourhoods(groups, batch, seed)?),
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

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Batches of an epoch, in which every training image is seen once; where images to classify are drawn separately,
    /// as one of those.
    pub(crate) fn batches_per_epoch(&self) -> u64 {
        self.beside.as_ref().map_or(&self.sampler, |beside| &beside.sampler).batches_per_epoch()
    }

    /// One step of the trainer on its next batch.
    ///
    /// # Errors
    /// If the objective is not defined on the batch.
    pub(crate) fn step(&mut self, trainer: &mut Trainer) -> Result<()> {
        let data = Stage::Data.enter();
        let step = trainer.step_number();
        let indices = self.indices(step);
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
        drop(data);
        trainer.step_on(views, context)?;
        Ok(())
    }

    /// The images whose views a step sees.
    fn indices(&mut self, step: u64) -> Vec<usize> {
        match &self.order {
            Order::ConditionGroups(neighbourhoods) => neighbourhoods.batch(step),
            Order::Weighted(weighted) => weighted.batch(step),
            Order::Shuffled => self.sampler.batch(step).to_vec(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use simile_core::data::Condition;
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::super::trainer::trainer_config;
    use super::*;

    /// Two classes of twenty, each with one image of the other one's bias.
    fn biased() -> Dataset {
        let mut digits = draw_digits(40, Colours::Palette, 3).unwrap();
        digits.labels = (0..40).map(|i| i / 20).collect();
        let values = (0..40).map(|i| if i % 20 == 0 { 1 - i / 20 } else { i / 20 }).collect();
        let names = ["left", "right"].map(String::from).to_vec();
        digits.conditions.insert("bias".into(), Condition::Categorical { values, names });
        digits
    }

    fn fed(objective: &str) -> (Arm, Recipe, DataLoader) {
        let text = format!(
            "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 40\ntest = 10\n\n[train]\nbatch = 16\niterations = 4\n\n[classified]\nbatch = 8\n\n\
             [method]\nname = \"with-classifier\"\n\n[objective]\nbias = \"bias\"\n{objective}\n"
        );
        let recipe = Recipe::resolved(&text, Path::new("mine.toml")).unwrap();
        let arm = recipe.arms().remove(0);
        let feed = DataLoader::new(&arm, &recipe, &biased(), &Device::flex()).unwrap();
        (arm, recipe, feed)
    }

    #[test]
    fn a_bias_that_is_rare_in_its_class_is_drawn_as_released() {
        let share = |feed: &mut DataLoader| {
            let drawn: Vec<usize> = (0..400).flat_map(|step| feed.indices(step)).collect();
            drawn.iter().filter(|&&i| i % 20 == 0).count() as f64 / drawn.len() as f64
        };
        let (.., mut even) = fed("name = \"biascon-total\"");
        assert!((share(&mut even) - 2.0 / 40.0).abs() < 0.01);
        // Two of weight 10 beside 38 of weight 1.
        let (.., mut weighted) = fed("name = \"biascon-total\"\noversample = 10.0");
        assert!((share(&mut weighted) - 20.0 / 58.0).abs() < 0.03);
    }

    #[test]
    fn images_to_classify_are_a_batch_of_their_own_and_make_the_epoch() {
        let (arm, recipe, mut feed) = fed("name = \"biascon-total\"\noversample = 10.0");
        assert_eq!(feed.batches_per_epoch(), 40 / 8);
        let settings = trainer_config(&arm, &recipe, feed.context(), (&biased(), 5), None).unwrap();
        assert_eq!(settings.head.output, 10);
        let mut trainer = Trainer::new(settings, &feed.context().training_set(), &Device::flex()).unwrap();
        feed.step(&mut trainer).unwrap();
        assert!(pollster::block_on(trainer.mean_loss()).unwrap().unwrap().is_finite());
        let beside = feed.beside.as_mut().unwrap().sampler.batch(0).to_vec();
        assert!(beside.len() == 8 && beside != feed.sampler.batch(0)[..8]);
    }
}
