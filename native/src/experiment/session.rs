//! A run from its first step, or the one after its last checkpoint, to its report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use simile_core::augment::Normalisation;
use simile_core::data::Dataset;
use simile_core::nn::Encoder;
use simile_core::nn::checkpoint::{Checkpoint, Metadata, Weights};
use simile_core::numeric::matrix::Matrix;
use simile_core::train::Trainer;

use super::draw::{self, Drawing};
use super::events::EventLog;
use super::finish::finish;
use super::folder::{LAST_MODEL, MODEL, RunFolder};
use super::interrupt;
use super::log::MetricsLog;
use super::prepared::Prepared;
use super::record::{ArmResult, Measurement, RunResult};
use super::selection::Candidate;
use super::splits::Splits;
use super::state::{Checkpointed, Standing};
use super::training::Trained;
use super::untrained::doubt;
use crate::cli::Probe;
use crate::config::Recipe;
use crate::config::sections::Arm;
use crate::console::line;
use crate::devices::Team;
use crate::exit::{Interrupted, usage};
use crate::metrics::probe::objective::{self, Frozen, Viewing};
use crate::metrics::probe::{Measured, Represented, in_words, judge, measure};
use crate::names::{resuming, slug};
use crate::report::figures::Figures;

/// A run in progress.
pub(crate) struct Session {
    pub(super) folder: RunFolder,
    pub(super) recipe: Recipe,
    pub(super) team: Team,
    pub(super) splits: Splits,
    /// Where encoders start, if not at random.
    pub(super) weights: Option<Arc<Weights>>,
    pub(super) standing: Standing,
    pub(super) log: MetricsLog,
    /// When it went on, and its wall time before.
    begun: (Instant, f64),
}

impl Session {
    /// A run that stands where `standing` says.
    ///
    /// # Errors
    /// If the folder cannot be written to, or its metrics are not those that the run wrote.
    pub(super) fn new(
        folder: RunFolder,
        recipe: Recipe,
        team: Team,
        splits: Splits,
        weights: Option<Arc<Weights>>,
        mut standing: Standing,
    ) -> Result<Self> {
        let log = MetricsLog::open(&folder, standing.metrics)?;
        standing.device = team.to_string();
        let begun = (Instant::now(), standing.seconds);
        Ok(Self { folder, recipe, team, splits, weights, standing, log, begun })
    }

    /// Trains and probes every arm that is not done, then writes result and report. An arm that diverged is done; its
    /// result says so.
    ///
    /// # Errors
    /// [`Interrupted`] after a checkpoint if the user asks for it; whatever else stops the run.
    pub(super) fn run(mut self) -> Result<RunResult> {
        let arms = self.recipe.arms();
        let mut figures: Figures = match self.standing.figures(&self.folder)? {
            None => self.first_figures()?,
            Some(figures) => figures,
        };
        while let Some(at) = self.standing.current() {
            let result = self.arm((at, &arms[at]), arms.len(), &mut figures)?;
            self.standing.keep_figures(&self.folder, at + 1, &figures)?;
            self.standing.arms[at].result = Some(result);
            self.save()?;
            if interrupt::asked() && at + 1 < arms.len() {
                return Err(self.interrupted());
            }
        }
        finish(&self.folder, &self.recipe, self.standing)
    }

    fn first_figures(&self) -> Result<Figures> {
        let (train, device) = (&self.splits.train, &self.team.first.device);
        let samples = draw::samples(train, &self.recipe.augment, self.recipe.train.seed, device)?;
        Ok(Figures { samples, ..Figures::default() })
    }

    /// Trains, probes and draws one arm.
    fn arm(&mut self, (at, arm): (usize, &Arm), arms: usize, figures: &mut Figures) -> Result<ArmResult> {
        let mut events = EventLog::open(&self.folder, &arm.name)?;
        let Trained { trainer, stopped } = self.train((at, arm), &mut events)?;
        line(format_args!("{}: probing", arm.name));
        let last = Candidate { iteration: trainer.step_number(), model: trainer.model().clone() };
        let (chosen, last) = match self.chosen(at, last.iteration)? {
            Some(chosen) => (chosen, Some(last)),
            None => (last, None),
        };
        let (Measured { metrics, guesses, probes }, features) = self.measured(arm, &chosen)?;
        let iterations = trainer.step_number() as usize;
        events.scalars(iterations, metrics.iter().map(|(name, value)| (name.as_str(), *value)))?;
        events.flush()?;
        self.log.flush()?;

        let place = Place { arm: (arms > 1).then_some(arm.name.as_str()), is_last: at + 1 == arms };
        self.write_model(MODEL, place, &chosen.model.encoder)?;
        if let Some(last) = &last {
            self.write_model(LAST_MODEL, place, &last.model.encoder)?;
        }
        let mut result = ArmResult {
            name: arm.name.clone(),
            objective: arm.objective.name.clone(),
            iterations,
            final_loss: final_loss(&self.folder.measurements()?, arm, iterations),
            training_seconds: self.standing.arms[at].seconds,
            metrics,
            probes,
            protocol: self.protocol(at, chosen.iteration),
            last: last
                .map(|last| self.measured(arm, &last).map(|(measured, _)| measured.metrics))
                .transpose()?,
            evaluations: self.standing.arms[at].evaluations.clone(),
            stopped,
            warnings: self.standing.warnings.get(&arm.name).cloned().unwrap_or_default(),
        };
        self.hold_against()?;
        let condition = &self.recipe.probe.condition;
        let doubt = self.standing.untrained.as_ref().and_then(|before| doubt(&result, before, condition));
        if let Some(warning) = doubt {
            line(format_args!("warning: {}: {warning}", arm.name));
            result.warnings.push(warning);
        }
        let Splits { train, test, .. } = &self.splits;
        Drawing { arm, condition, train, test, features: &features, guesses: &guesses }.add_to(figures)?;
        Ok(result)
    }

    /// The metrics of a network on the test images, and its features of them.
    fn measured(&self, arm: &Arm, candidate: &Candidate) -> Result<(Measured, Matrix)> {
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        let Splits { train, test, .. } = &self.splits;
        let model = &candidate.model;
        let train_features = self.prepared(train, &normalisation)?.features(&model.encoder)?;
        let images = self.prepared(test, &normalisation)?;
        let features = images.features(&model.encoder)?;
        let mut measured = measure(
            &self.recipe.probe,
            Probe::Linear,
            Represented { features: &train_features, dataset: train },
            Represented { features: &features, dataset: test },
        )?;
        let viewing = Viewing {
            augmentation: &self.recipe.augment,
            normalisation: &normalisation,
            device: &self.team.first.device,
        };
        let network = Frozen::new(&model.encoder, Some(&model.head));
        let objectives =
            objective::measure(&self.recipe.probe.objectives, &network, &viewing, [train, test])?;
        measured.metrics.extend(objectives);
        let classes = train.classes.len();
        if arm.scores(classes, 0) == Some(classes) {
            let scores = arm.by_class(images.scores(model)?).map_err(usage)?;
            if scores.columns() == classes {
                let own = judge(&self.recipe.probe, &scores, test)?;
                measured
                    .metrics
                    .extend(own.into_iter().map(|(name, value)| (format!("classifier_{name}"), value)));
            }
        }
        Ok((measured, features))
    }

    fn protocol(&self, at: usize, iteration: u64) -> String {
        let Splits { train, test, .. } = &self.splits;
        let judged = self.recipe.data.judged();
        let objectives = self.recipe.probe.objectives.iter().map(|one| format!("; {}", one.in_words()));
        format!(
            "{}, fitted to {} training images and measured on {} {judged} images{}; {}",
            in_words(&self.recipe.probe, Probe::Linear),
            train.len(),
            test.len(),
            objectives.collect::<String>(),
            self.choice(at, iteration)
        )
    }

    /// An encoder as a file of that name, and of the arm's where there are several.
    fn write_model(&mut self, name: &str, place: Place<'_>, encoder: &Encoder) -> Result<()> {
        let checkpoint = Checkpoint { metadata: self.metadata()?, encoder: encoder.clone(), head: None };
        let bytes = pollster::block_on(checkpoint.to_bytes())?;
        if let Some(arm) = place.arm {
            self.standing.keep(&self.folder, &model_of(name, arm), &bytes)?;
        }
        // That of an earlier arm is replaced by the next one's.
        if place.is_last {
            self.standing.keep(&self.folder, name, &bytes)
        } else {
            self.folder.write(name, &bytes)
        }
    }

    /// What a model file says of itself.
    pub(super) fn metadata(&self) -> Result<Metadata> {
        let Normalisation { mean, std } = self.recipe.normalisation().map_err(usage)?;
        let mut metadata = Metadata::new(self.recipe.encoder.config.clone(), mean, std);
        metadata.resize = self.recipe.data.resize();
        // As it was begun: how often checkpoints are made may have changed since.
        metadata.recipe = serde_json::to_value(self.standing.recipe(&self.folder)?)?;
        Ok(metadata)
    }

    pub(super) fn prepared<'n>(
        &self,
        set: &Dataset,
        normalisation: &'n Normalisation,
    ) -> Result<Prepared<'n>> {
        let sides = (self.recipe.encoder.config.input_size, self.recipe.data.resize());
        Prepared::new(&set.images, sides, normalisation, &self.team.first.device)
    }

    /// Writes the state of a trainer, and where the run stands.
    pub(super) fn checkpoint(&mut self, at: usize, trainer: &Trainer, why: Checkpointed) -> Result<()> {
        let bytes = pollster::block_on(trainer.to_bytes())?;
        self.standing.keep_trainer(&self.folder, at, &bytes, why)?;
        self.save()
    }

    fn save(&mut self) -> Result<()> {
        let (now, before) = self.begun;
        self.standing.metrics = self.log.flush()?;
        self.standing.seconds = before + now.elapsed().as_secs_f64();
        self.standing.write(&self.folder)
    }

    pub(super) fn interrupted(&self) -> anyhow::Error {
        Interrupted(format!("continue with `{}`", resuming(self.folder.root()))).into()
    }
}

/// Where the encoder of an arm is written.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The arm's name, where there are several.
    arm: Option<&'a str>,
    /// Whether it is the last one.
    is_last: bool,
}

/// File name of an arm's encoder: `model-fair.safetensors`.
fn model_of(name: &str, arm: &str) -> String {
    name.replacen("model", &format!("model-{}", slug(arm)), 1)
}

/// Mean of the losses in the last tenth of the iterations.
fn final_loss(measurements: &[Measurement], arm: &Arm, iterations: usize) -> f64 {
    let last: BTreeMap<usize, f64> = measurements
        .iter()
        .filter(|line| line.arm == arm.name && line.iteration <= iterations)
        .filter(|line| line.iteration > iterations - iterations.div_ceil(10))
        .map(|line| (line.iteration, line.loss))
        .collect();
    last.values().sum::<f64>() / last.len().max(1) as f64
}
