//! A run from its first step, or the one after its last checkpoint, to its report.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context as _, Result};
use simile_core::augment::Normalisation;
use simile_core::checkpoint::Metadata;
use simile_core::dataset::Dataset;
use simile_core::train::{Sampler, Sampling, Trainer, TrainerConfig, ViewSource};

use super::context::Context;
use super::draw;
use super::events::EventLog;
use super::folder::{FIGURES, MODEL, MetricsLog, REPORT, RESULT, RunFolder, slug};
use super::interrupt;
use super::prepared::Prepared;
use super::record::{ArmResult, Measurement, RunResult};
use super::splits::Splits;
use super::state::Standing;
use crate::cli::Probe;
use crate::console::{Progress, line};
use crate::device::Present;
use crate::exit::{Interrupted, usage};
use crate::probe::{Represented, measure};
use crate::recipe::Recipe;
use crate::recipe::sections::Arm;
use crate::report::figures::Figures;
use crate::report::{RunRecord, page};

/// A run in progress.
pub(crate) struct Session {
    folder: RunFolder,
    recipe: Recipe,
    device: Present,
    splits: Splits,
    standing: Standing,
    log: MetricsLog,
    begun: Instant,
}

impl Session {
    /// A run that stands where `standing` says.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(crate) fn new(
        folder: RunFolder,
        recipe: Recipe,
        device: Present,
        splits: Splits,
        standing: Standing,
    ) -> Result<Self> {
        let log = MetricsLog::open(&folder, standing.metrics_bytes)?;
        Ok(Self { folder, recipe, device, splits, standing, log, begun: Instant::now() })
    }

    /// Trains and probes every arm that is not done, then writes result and report.
    ///
    /// # Errors
    /// [`Interrupted`] after a checkpoint if the user asks for it; whatever else stops the run.
    pub(crate) fn run(mut self) -> Result<RunResult> {
        let before = self.standing.seconds;
        let arms = self.recipe.arms();
        let mut figures: Figures = match self.standing.finished.is_empty() {
            true => self.first_figures()?,
            false => self.folder.read_json(FIGURES)?,
        };
        for arm in arms.iter().skip(self.standing.finished.len()) {
            let (result, kernel, map) = self.arm(arm, arms.len(), before)?;
            figures.kernels.extend(kernel);
            figures.maps.push(map);
            self.folder.write_json(FIGURES, &figures)?;
            self.standing.finished.push(result);
            self.standing.arm =
                arms.get(self.standing.finished.len()).map_or_else(String::new, |arm| arm.name.clone());
            (self.standing.iteration, self.standing.arm_seconds) = (0, 0.0);
            self.save(None, before)?;
            if interrupt::asked() && !self.standing.arm.is_empty() {
                return Err(self.interrupted());
            }
        }
        self.finish()
    }

    fn first_figures(&self) -> Result<Figures> {
        let (train, device) = (&self.splits.train, &self.device.device);
        let samples = draw::samples(train, &self.recipe.augment, self.recipe.train.seed, device)?;
        Ok(Figures { samples, ..Figures::default() })
    }

    /// Trains, probes and draws one arm.
    fn arm(
        &mut self,
        arm: &Arm,
        arms: usize,
        before: f64,
    ) -> Result<(ArmResult, Option<crate::report::figures::KernelFigure>, crate::report::figures::MapFigure)>
    {
        let mut events = EventLog::open(&self.folder, &arm.name)?;
        let trainer = self.train(arm, before, &mut events)?;
        line(format_args!("{}: probing", arm.name));
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        let Splits { train, test } = &self.splits;
        let features = |set: &Dataset| self.prepared(set, &normalisation)?.features(trainer.encoder());
        let (train_features, test_features) = (features(train)?, features(test)?);
        let metrics = measure(
            &self.recipe.probe,
            Probe::Linear,
            Represented { features: &train_features, dataset: train },
            Represented { features: &test_features, dataset: test },
        )?;

        let mut metadata = Metadata::new(self.recipe.encoder.clone(), normalisation.mean, normalisation.std);
        metadata.recipe = serde_json::to_value(&self.recipe)?;
        let model = pollster::block_on(trainer.checkpoint(metadata).to_bytes())?;
        if arms > 1 {
            self.folder.write(model_of(&arm.name), &model)?;
        }
        self.folder.write(MODEL, &model)?;

        let named = metrics.iter().map(|(name, value)| (name.as_str(), *value));
        events.scalars(self.recipe.train.iterations, named)?;
        events.flush()?;
        self.log.flush()?;
        let result = ArmResult {
            name: arm.name.clone(),
            objective: arm.objective.name.clone(),
            iterations: self.recipe.train.iterations,
            final_loss: final_loss(&self.folder.measurements()?, arm, self.recipe.train.iterations),
            training_seconds: self.standing.arm_seconds,
            metrics,
        };
        let map = draw::map(arm, &self.recipe.probe.condition, &test_features, test)?;
        Ok((result, draw::kernel(arm, train)?, map))
    }

    fn train(&mut self, arm: &Arm, before: f64, events: &mut EventLog) -> Result<Trainer> {
        let section = self.recipe.train.clone();
        let (samples, batch, seed) = (self.splits.train.len(), section.batch, section.seed);
        let mut sampler = Sampler::new(Sampling { samples, batch, drop_last: false, seed })?;
        let context = Context::new(&arm.objective, &self.splits.train, seed)?;
        let groups = arm.objective.neighbourhoods;
        let neighbourhoods = groups.map(|groups| context.neighbourhoods(groups, batch, seed)).transpose()?;
        let mut trainer = self.trainer(arm, &context, sampler.batches_per_epoch())?;
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        let (augmentation, device) = (self.recipe.augment.clone(), &self.device.device);
        let images = ViewSource::new(&self.splits.train.images, augmentation, normalisation, device);

        let (begun, before_arm) = (Instant::now(), self.standing.arm_seconds);
        line(format_args!("{}: training on {}", arm.name, self.device));
        let mut progress = Progress::new(&arm.name, trainer.step_number(), trainer.config().steps);
        while !trainer.is_finished() {
            if trainer.awaits_scores() {
                self.begin_stage(arm, &mut trainer)?;
            }
            let learning_rate = trainer.learning_rate();
            let step = trainer.step_number();
            let indices = match &neighbourhoods {
                Some(neighbourhoods) => neighbourhoods.batch(step),
                None => sampler.batch(step).to_vec(),
            };
            let (view_a, view_b) = images.pair(&indices, &mut trainer.rng())?;
            trainer.step(view_a, view_b, context.of(&indices))?;

            let done = trainer.step_number();
            if (done.is_multiple_of(section.log_every as u64) || trainer.is_finished())
                && let Some(loss) = pollster::block_on(trainer.mean_loss())?
            {
                let (arm, iteration) = (arm.name.clone(), done as usize);
                events.scalars(iteration, [("loss", loss), ("learning_rate", learning_rate)])?;
                self.log.append(&Measurement { arm, iteration, loss, learning_rate })?;
                progress.at(done, format_args!("loss {loss:.4}"));
            }
            self.standing.arm_seconds = before_arm + begun.elapsed().as_secs_f64();
            self.standing.iteration = done;
            let due = done.is_multiple_of(section.checkpoint_every as u64) || trainer.is_finished();
            if due || interrupt::asked() {
                arm.name.clone_into(&mut self.standing.arm);
                events.flush()?;
                self.save(Some(&trainer), before)?;
            }
            if interrupt::asked() {
                progress.finish();
                return Err(self.interrupted());
            }
        }
        progress.finish();
        Ok(trainer)
    }

    /// Has the first network say which training images it fails on, for a second one to learn more from.
    fn begin_stage(&self, arm: &Arm, trainer: &mut Trainer) -> Result<()> {
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        let train = &self.splits.train;
        let scores = self.prepared(train, &normalisation)?.scores(trainer.model())?;
        let failures = trainer.begin_stage(&scores)?;
        line(format_args!(
            "{}: the network fails on {failures} of {} training images; the next stage begins",
            arm.name,
            train.len()
        ));
        Ok(())
    }

    fn prepared<'n>(&self, set: &Dataset, normalisation: &'n Normalisation) -> Result<Prepared<'n>> {
        Prepared::new(&set.images, self.recipe.encoder.input_size, normalisation, &self.device.device)
    }

    fn trainer(&self, arm: &Arm, context: &Context, steps_per_epoch: u64) -> Result<Trainer> {
        let Recipe { encoder, head, optimizer, schedule, train, .. } = self.recipe.clone();
        let training = context.training_set();
        let classes = training.labels.iter().max().map_or(0, |label| label + 1);
        let config = TrainerConfig {
            objective: arm.objective.config().map_err(usage)?,
            method: arm.method(),
            encoder,
            head: head.of(&arm.objective.name, classes.max(self.splits.train.classes.len()), training.biases),
            optimizer,
            schedule,
            steps: train.iterations as u64,
            steps_per_epoch,
            views_apart: train.views_apart,
            seed: train.seed,
        };
        let device = &self.device.device;
        match self.standing.trainer(&self.folder)? {
            Some(bytes) => Trainer::resume(config, &training, device, &bytes).context("continuing the run"),
            None => Trainer::new(config, &training, device).map_err(usage),
        }
    }

    fn save(&mut self, trainer: Option<&Trainer>, before: f64) -> Result<()> {
        self.standing.metrics_bytes = self.log.flush()?;
        self.standing.seconds = before + self.begun.elapsed().as_secs_f64();
        let bytes = trainer.map(|trainer| pollster::block_on(trainer.to_bytes())).transpose()?;
        self.standing.write(&self.folder, bytes.as_deref())
    }

    fn interrupted(&self) -> anyhow::Error {
        Interrupted(self.folder.root().display().to_string()).into()
    }

    fn finish(self) -> Result<RunResult> {
        let result = RunResult {
            recipe: self.recipe.name.clone(),
            condition: self.recipe.probe.condition.clone(),
            seed: self.recipe.train.seed,
            device: self.device.to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
            seconds: self.standing.seconds,
            arms: self.standing.finished,
        };
        self.folder.write_json(RESULT, &result)?;
        let record = RunRecord::read(self.folder.root())?;
        self.folder.write(REPORT, page(&[record])?)?;
        Ok(result)
    }
}

/// File name of an arm's encoder.
pub(crate) fn model_of(arm: &str) -> String {
    format!("model-{}.safetensors", slug(arm))
}

/// Mean of the losses in the last tenth of the iterations.
fn final_loss(measurements: &[Measurement], arm: &Arm, iterations: usize) -> f64 {
    let last: BTreeMap<usize, f64> = measurements
        .iter()
        .filter(|line| line.arm == arm.name && line.iteration > iterations - iterations.div_ceil(10))
        .map(|line| (line.iteration, line.loss))
        .collect();
    last.values().sum::<f64>() / last.len().max(1) as f64
}
