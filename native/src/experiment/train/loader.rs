//! The batches of a trainer: two views of each image, with its labels and conditions, and the further inputs of its
//! method.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use anyhow::Result;
use burn::tensor::Device;
use rand::Rng;
use simile_core::algorithm::{BatchShard, Views};
use simile_core::augment::Augmentation;
use simile_core::data::Dataset;
use simile_core::kernel::conditional::SolvedCondition;
use simile_core::loss::batch::Batch;
use simile_core::step_stage::StepStage;
use simile_core::train::{Sampler, Sampling, TO_CLASSIFY_SEED, Trainer, ViewMaker};

use super::image_loader::{ImageLoader, ImagePlace, StepImages};
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::exit::usage;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::order::Order;
use crate::experiment::prepare::prefetch::resident_limit;
use crate::experiment::prepare::solves::Solves;

/// Batches of the training images.
pub(crate) struct DataLoader {
    image_loader: ImageLoader,
    context: Context,
    views: ViewMaker,
    /// The images of a batch without augmentation, for a network that does not see views.
    plain: Option<ViewMaker>,
    classified: Option<ClassifiedImages>,
    /// The solves of the objective, if it has a condition to solve for.
    solves: Option<Solves>,
    /// The largest bound that a solve has stated of its error since the last call of `take_approximation_error`.
    approximation_error: Option<f64>,
    batches_per_epoch: u64,
}

/// The inputs of a step.
pub(crate) struct StepBatch {
    /// Number of images of which there are two views.
    pub(crate) images: usize,
    pub(crate) views: Views,
    pub(crate) context: Batch,
}

/// The sizes of the batches of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BatchSize {
    /// Number of images of which there are two views.
    pub(crate) images: usize,
    /// Number of the separate images to classify, if there are any.
    pub(crate) classified: Option<usize>,
}

impl Display for BatchSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} images", self.images)?;
        self.classified.map_or(Ok(()), |count| write!(f, " beside {count} to classify"))
    }
}

impl StepBatch {
    /// Its sizes.
    pub(crate) fn size(&self) -> BatchSize {
        let classified = self.views.to_classify.as_ref().map(|images| images.dims()[0]);
        BatchSize { images: self.images, classified }
    }

    /// The step of a trainer on it; returns the number of images whose views it saw.
    ///
    /// # Errors
    /// If the objective is not defined on the batch.
    pub(crate) fn step(self, trainer: &mut Trainer) -> Result<usize> {
        let Self { images, views, context } = self;
        trainer.step_on(views, context)?;
        Ok(images)
    }
}

/// Images that are classified beside the objective, in a separate order.
struct ClassifiedImages {
    image_loader: ImageLoader,
    views: ViewMaker,
}

impl DataLoader {
    /// Batches for a variant.
    ///
    /// # Errors
    /// A usage error if the data set lacks an attribute that the variant needs; a failure if an image cannot be read.
    pub(crate) fn new(
        variant: &RecipeVariant,
        recipe: &Recipe,
        train: &Dataset,
        device: &Device,
    ) -> Result<Self> {
        let loader = Self::with_resident_limit(resident_limit()?, variant, recipe, train, device)?;
        loader.context.note().into_iter().for_each(line);
        Ok(loader)
    }

    /// Batches for a variant, without a message to the user. The images of a set of at most `resident` bytes stay on the device; others
    /// are read ahead.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(in crate::experiment) fn with_resident_limit(
        resident: u64,
        variant: &RecipeVariant,
        recipe: &Recipe,
        train: &Dataset,
        device: &Device,
    ) -> Result<Self> {
        let sampling = recipe.train.sampling(train.len());
        let normalisation = recipe.normalisation().map_err(usage)?;
        let context = Context::new(&variant.objective, train, sampling.seed)?;
        let mut batches_per_epoch = sampling.batches_per_epoch();
        let order = Order::of(&variant.objective, &context, sampling)?;
        let place = ImagePlace::of(&train.images, resident, device)?;
        let views = |augmentation| ViewMaker::new(augmentation, normalisation.clone());
        let algorithm = &variant.algorithm;
        let mut classified = None;
        if let Some(section) = recipe.classified.as_ref().filter(|_| algorithm.takes_images_to_classify()) {
            let (samples, batch) = (train.len(), section.batch);
            let drop_last = recipe.train.drops_last(batch, samples);
            let sampling = Sampling { samples, batch, drop_last, seed: sampling.seed ^ TO_CLASSIFY_SEED };
            batches_per_epoch = sampling.batches_per_epoch();
            let order = Order::Shuffled(Sampler::new(sampling)?);
            let image_loader = ImageLoader::new(order, &train.images, place.clone(), device);
            classified = Some(ClassifiedImages { image_loader, views: views(section.augment.clone()) });
        }
        let solves = solves(variant, &context, device)?;
        let Augmentation { size, centre_crop, .. } = recipe.augment;
        let as_they_are = Augmentation { size, centre_crop, ..Augmentation::default() };
        Ok(Self {
            image_loader: ImageLoader::new(order, &train.images, place, device),
            context,
            views: views(recipe.augment.clone()),
            plain: algorithm.takes_plain(&variant.objective.name).then(|| views(as_they_are)),
            classified,
            solves,
            approximation_error: None,
            batches_per_epoch,
        })
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Batches of an epoch, in which every training image is seen once, except those that `train.drop_last` leaves out;
    /// where images to classify are drawn separately, an epoch of those.
    pub(crate) fn batches_per_epoch(&self) -> u64 {
        self.batches_per_epoch
    }

    /// One step of the trainer on its next batch; returns the number of images whose views it saw.
    ///
    /// # Errors
    /// If the objective is not defined on the batch, or an image cannot be read.
    pub(crate) fn step(&mut self, trainer: &mut Trainer) -> Result<usize> {
        self.next(trainer)?.step(trainer)
    }

    /// The batch of the trainer's next step.
    ///
    /// # Errors
    /// If an image cannot be read.
    pub(crate) fn next(&mut self, trainer: &Trainer) -> Result<StepBatch> {
        self.batch(trainer.step_number(), trainer.config().steps, &mut trainer.rng())
    }

    /// Takes only these rows of each batch from here on, for a trainer that shares its steps with other processes.
    pub(crate) fn set_shard(&mut self, shard: BatchShard) {
        self.image_loader.set_shard(shard);
    }

    /// The batch of a step, of which nothing but its number and the generator of its views is known. Nothing is read ahead
    /// for steps from `end` on.
    ///
    /// # Errors
    /// If an image cannot be read, or the images do not support the views.
    pub(crate) fn batch(&mut self, step: u64, end: u64, rng: &mut impl Rng) -> Result<StepBatch> {
        let _data = StepStage::Data.enter();
        let StepImages { indices, images, rows, stretches } = self.image_loader.batch(step, end)?;
        let (stretches, count) = (stretches.as_deref(), indices.len());
        let (view_a, view_b) = self.views.pair_of(images.clone(), (count, &rows), stretches, rng)?;
        let (mut views, mut context) = (Views::new(view_a, view_b)?.out_of(count), self.context.of(&indices));
        if let Some(solves) = &mut self.solves {
            let solution = solves.of(step, || Box::new(self.image_loader.plan(step, end)))?;
            let error = solution.as_ref().and_then(SolvedCondition::approximation_error);
            self.approximation_error = self.approximation_error.into_iter().chain(error).reduce(f64::max);
            context = context.with_solution(solution);
        }
        if let Some(plain) = &self.plain {
            views = views.with_plain(plain.single(images, stretches, rng)?)?;
        }
        if let Some(ClassifiedImages { image_loader, views: classified_views }) = &mut self.classified {
            let StepImages { indices, images, stretches, .. } = image_loader.batch(step, end)?;
            let to_classify = classified_views.single(images, stretches.as_deref(), rng)?;
            views = views.with_images_to_classify(to_classify)?;
            context = self.context.with_classes(context, &indices);
        }
        Ok(StepBatch { images: count, views, context })
    }

    /// The time that steps have waited since the last call of this function.
    pub(crate) fn take_waited(&mut self) -> WaitedTime {
        let classified =
            self.classified.as_mut().and_then(|classified| classified.image_loader.take_waited());
        WaitedTime {
            images: self.image_loader.take_waited().map(|waited| waited + classified.unwrap_or_default()),
            solves: self.solves.as_mut().map(Solves::take_waited),
        }
    }

    /// The largest bound that a solve has stated of the error of its weights since the last call of this function; `None` if all were
    /// exact, or if nothing was solved.
    pub(crate) fn take_approximation_error(&mut self) -> Option<f64> {
        self.approximation_error.take()
    }
}

/// The solves of a variant's objective; `None` if it has none.
///
/// # Errors
/// A usage error if the objective cannot be built.
pub(in crate::experiment) fn solves(
    variant: &RecipeVariant,
    context: &Context,
    device: &Device,
) -> Result<Option<Solves>> {
    let Some(condition) = context.condition() else { return Ok(None) };
    let objective = variant.objective.config().map_err(usage)?.build()?;
    Ok(Solves::new(objective, condition, device))
}

/// The time that steps have waited for threads that prepare ahead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WaitedTime {
    /// For images; `None` if these lie on the device.
    pub(crate) images: Option<Duration>,
    /// For the solves of an objective; `None` if it has none.
    pub(crate) solves: Option<Duration>,
}

impl WaitedTime {
    /// All of it; `None` if there is nothing to wait for.
    pub(crate) fn sum(self) -> Option<Duration> {
        self.images.into_iter().chain(self.solves).reduce(|sum, waited| sum + waited)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod million;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use simile_core::data::Condition;
    use simile_core::data::synthetic::colour_mnist::Colours;
    use simile_core::data::synthetic::digits::draw_digits;

    use super::super::trainer::trainer_config;
    use super::*;
    use crate::config::testing::drawn;
    use crate::devices::{DeviceName, testing};

    /// Two classes of twenty, each with one image of the other one's bias.
    fn biased() -> Dataset {
        let mut digits = draw_digits(40, Colours::Palette, 3).unwrap();
        digits.labels = (0..40).map(|i| i / 20).collect();
        let values = (0..40).map(|i| if i % 20 == 0 { 1 - i / 20 } else { i / 20 }).collect();
        let names = ["left", "right"].map(String::from).to_vec();
        digits.conditions.insert("bias".into(), Condition::Categorical { values, names });
        digits
    }

    fn fed(objective: &str) -> (RecipeVariant, Recipe, DataLoader) {
        fed_by("batch = 16", 8, objective)
    }

    fn fed_by(train: &str, classified: usize, objective: &str) -> (RecipeVariant, Recipe, DataLoader) {
        let recipe = drawn(&format!(
            "[train]\niterations = 4\n{train}\n\n[classified]\nbatch = {classified}\n\n\
             [method]\nname = \"with-classifier\"\n\n[objective]\nbias = \"bias\"\n{objective}\n"
        ));
        let variant = recipe.variants().remove(0);
        let loader = DataLoader::new(&variant, &recipe, &biased(), &Device::flex()).unwrap();
        (variant, recipe, loader)
    }

    /// An objective with weights of the colour, and a further line of its section.
    fn conditional(objective: &str, line: &str) -> (RecipeVariant, Recipe) {
        let recipe = drawn(&format!(
            "[train]\niterations = 5\n\n[objective]\nname = \"{objective}\"\n\
             kernel = {{ name = \"rbf\", sigma = 20.0 }}\n{line}\n"
        ));
        (recipe.variants().remove(0), recipe)
    }

    #[test]
    fn a_bias_that_is_rare_in_its_class_is_drawn_as_released() {
        let share = |loader: &mut DataLoader| {
            let drawn: Vec<usize> =
                (0..400).flat_map(|step| loader.image_loader.batch(step, 0).unwrap().indices).collect();
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
        let (variant, recipe, mut loader) = fed("name = \"biascon-total\"\noversample = 10.0");
        assert_eq!(loader.batches_per_epoch(), 40 / 8);
        let settings = trainer_config(&variant, &recipe, loader.context(), &biased(), 5).unwrap();
        assert_eq!(settings.head.output, 10);
        let mut trainer = Trainer::new(settings, &loader.context().training_set(), &Device::flex()).unwrap();
        loader.step(&mut trainer).unwrap();
        assert!(pollster::block_on(trainer.mean_loss()).unwrap().unwrap().is_finite());
        let classified = loader.classified.as_mut().unwrap().image_loader.batch(0, 4).unwrap().indices;
        assert!(classified.len() == 8 && classified != loader.image_loader.batch(0, 4).unwrap().indices[..8]);
    }

    #[test]
    fn the_rest_of_an_epoch_is_left_out_where_the_recipe_or_the_device_wants_it() {
        let sizes = |images: &mut ImageLoader| -> Vec<usize> {
            (0..6).map(|step| images.batch(step, 0).unwrap().indices.len()).collect()
        };
        let of = |train: &str| {
            let (.., mut loader) = fed_by(train, 24, "name = \"biascon-total\"");
            let classified = sizes(&mut loader.classified.as_mut().unwrap().image_loader);
            (sizes(&mut loader.image_loader), classified, loader.batches_per_epoch())
        };
        let all = (vec![16, 16, 8, 16, 16, 8], vec![24, 16, 24, 16, 24, 16], 2);
        assert_eq!(of("batch = 16"), all);
        assert_eq!(of("batch = 16\ndrop_last = false"), all);
        assert_eq!(of("batch = 16\ndrop_last = true"), (vec![16; 6], vec![24; 6], 1));
        // All images are a batch of their own, in whichever order.
        assert_eq!(of("batch = 41\ndrop_last = true").0, [40; 6]);

        let drop_last = |train: &str, on_gpu: bool| {
            let (_, mut recipe, _) = fed_by(train, 8, "name = \"biascon-total\"");
            recipe.train.set_device_defaults(on_gpu);
            recipe.train.drop_last
        };
        assert_eq!([false, true].map(|gpu| drop_last("batch = 16", gpu)), [None, Some(true)]);
        assert_eq!(drop_last("batch = 16\ndrop_last = false", true), Some(false));
    }

    #[test]
    fn solves_ahead_train_the_same_network_as_solves_within_the_step() {
        for objective in ["fair-cclk", "kernel-decoupled-uniformity"] {
            let (variant, recipe) = conditional(objective, "");
            let loader = || DataLoader::new(&variant, &recipe, &biased(), &Device::flex()).unwrap();
            let set = loader().context().training_set();
            let settings = || trainer_config(&variant, &recipe, loader().context(), &biased(), 5).unwrap();
            let bytes = |trainer: &Trainer| pollster::block_on(trainer.to_bytes()).unwrap();
            let trained = |ahead: bool, interrupted: Option<u64>| {
                let opened = || DataLoader { solves: loader().solves.filter(|_| ahead), ..loader() };
                let mut trainer = Trainer::new(settings(), &set, &Device::flex()).unwrap();
                let mut loader = opened();
                assert_eq!(loader.solves.is_some(), ahead);
                while !trainer.is_finished() {
                    if interrupted == Some(trainer.step_number()) {
                        trainer =
                            Trainer::resume(settings(), &set, &Device::flex(), &bytes(&trainer)).unwrap();
                        loader = opened();
                    }
                    loader.step(&mut trainer).unwrap();
                }
                bytes(&trainer)
            };
            let within = trained(false, None);
            assert!(trained(true, None) == within, "{objective}");
            assert!(trained(true, Some(3)) == within, "{objective}, resumed");
        }
    }

    #[test]
    fn the_largest_error_that_solves_state_is_kept_until_it_is_taken() {
        // After each group of so many steps.
        let taken = |line: &str, groups: &[usize]| -> Vec<Option<f64>> {
            let (variant, recipe) = conditional("fair-cclk", line);
            let mut loader = DataLoader::new(&variant, &recipe, &biased(), &Device::flex()).unwrap();
            let (mut rng, mut steps) = (ChaCha8Rng::seed_from_u64(1), 0..5_u64);
            let of_group = |&count: &usize| {
                for step in steps.by_ref().take(count) {
                    loader.batch(step, 5, &mut rng).unwrap();
                }
                loader.take_approximation_error()
            };
            groups.iter().map(of_group).collect()
        };
        let approximated = "approximation = { rank = 2, tolerance = 0.0 }";
        let each = taken(approximated, &[1, 1, 1]);
        assert!(each.iter().all(|error| error.is_some_and(|error| error > 0.0)), "{each:?}");
        let largest = each.iter().copied().flatten().reduce(f64::max);
        assert_eq!(taken(approximated, &[3, 0]), [largest, None]);
        assert_eq!(taken("", &[3]), [None]);
    }

    #[test]
    fn images_that_are_read_ahead_train_the_same_network_as_those_on_the_device() {
        let samplings = ["", "\noversample = 10.0", "\nneighbourhoods = 4", "\none_cluster = true"];
        let on_cpu = samplings.map(|sampling| (sampling, Device::flex()));
        // A thread copies them to a GPU while steps compute there.
        let on_gpu = testing::needed(DeviceName::Wgpu).map(|gpu| ("", gpu));
        for (sampling, device) in on_cpu.into_iter().chain(on_gpu) {
            let (variant, recipe, loader) = fed(&format!("name = \"biascon-total\"{sampling}"));
            let set = loader.context().training_set();
            let settings = || trainer_config(&variant, &recipe, loader.context(), &biased(), 5).unwrap();
            let bytes = |trainer: &Trainer| pollster::block_on(trainer.to_bytes()).unwrap();
            let trained = |resident: u64, interrupted: Option<u64>| {
                let opened = || {
                    DataLoader::with_resident_limit(resident, &variant, &recipe, &biased(), &device).unwrap()
                };
                let mut trainer = Trainer::new(settings(), &set, &device).unwrap();
                let mut loader = opened();
                while !trainer.is_finished() {
                    if interrupted == Some(trainer.step_number()) {
                        trainer = Trainer::resume(settings(), &set, &device, &bytes(&trainer)).unwrap();
                        loader = opened();
                    }
                    loader.step(&mut trainer).unwrap();
                }
                assert_eq!(loader.take_waited().images.is_some(), resident == 0);
                bytes(&trainer)
            };
            let resident = trained(u64::MAX, None);
            assert!(trained(0, None) == resident, "{sampling}");
            assert!(trained(0, Some(2)) == resident, "{sampling}, interrupted");
        }
    }
}
