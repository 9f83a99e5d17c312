//! A run from its first step, or the one after its last checkpoint, to its report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use simile_core::augment::Normalisation;
use simile_core::checkpoint::{Checkpoint, Metadata, Weights};
use simile_core::dataset::Dataset;
use simile_core::encoder::Encoder;
use simile_core::matrix::Matrix;

use super::draw::{self, Drawing};
use super::events::EventLog;
use super::folder::{FIGURES, LAST_MODEL, MODEL, MetricsLog, REPORT, RESULT, RunFolder, slug};
use super::interrupt;
use super::prepared::Prepared;
use super::record::{ArmResult, Measurement, RunResult, Stopped, Why};
use super::selection::Candidate;
use super::splits::Splits;
use super::state::Standing;
use super::training::Trained;
use super::untrained::doubt;
use crate::cli::Probe;
use crate::console::line;
use crate::device::Team;
use crate::exit::{Interrupted, usage};
use crate::probe::objective::{self, Frozen, Viewing};
use crate::probe::{Measured, Represented, in_words, judge, measure};
use crate::recipe::Recipe;
use crate::recipe::sections::Arm;
use crate::report::figures::Figures;
use crate::report::{RunRecord, page};

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
        team: Team,
        splits: Splits,
        weights: Option<Arc<Weights>>,
        standing: Standing,
    ) -> Result<Self> {
        let log = MetricsLog::open(&folder, standing.metrics_bytes)?;
        Ok(Self { folder, recipe, team, splits, weights, standing, log, begun: Instant::now() })
    }

    /// Trains and probes every arm that is not done, then writes result and report.
    ///
    /// # Errors
    /// [`Interrupted`] after a checkpoint if the user asks for it; whatever else stops the run. If an arm diverged, that,
    /// after everything is written.
    pub(crate) fn run(mut self) -> Result<RunResult> {
        let before = self.standing.seconds;
        let arms = self.recipe.arms();
        let mut figures: Figures = match self.standing.finished.is_empty() {
            true => self.first_figures()?,
            false => self.folder.read_json(FIGURES)?,
        };
        for arm in arms.iter().skip(self.standing.finished.len()) {
            let result = self.arm(arm, arms.len(), before, &mut figures)?;
            self.folder.write_json(FIGURES, &figures)?;
            self.standing.finished.push(result);
            self.standing.begin(arms.get(self.standing.finished.len()).map_or("", |arm| &arm.name));
            self.save(None, before)?;
            if interrupt::asked() && !self.standing.arm.is_empty() {
                return Err(self.interrupted());
            }
        }
        let result = self.finish()?;
        let diverged = |arm: &ArmResult| arm.stopped.clone().filter(|stopped| stopped.why == Why::Diverged);
        match result.arms.iter().find_map(diverged) {
            Some(Stopped { message, .. }) => Err(anyhow::anyhow!(message)),
            None => Ok(result),
        }
    }

    fn first_figures(&self) -> Result<Figures> {
        let (train, device) = (&self.splits.train, &self.team.first.device);
        let samples = draw::samples(train, &self.recipe.augment, self.recipe.train.seed, device)?;
        Ok(Figures { samples, ..Figures::default() })
    }

    /// Trains, probes and draws one arm.
    fn arm(&mut self, arm: &Arm, arms: usize, before: f64, figures: &mut Figures) -> Result<ArmResult> {
        let mut events = EventLog::open(&self.folder, &arm.name)?;
        let Trained { trainer, stopped } = self.train(arm, before, &mut events)?;
        line(format_args!("{}: probing", arm.name));
        let last = Candidate { iteration: trainer.step_number(), model: trainer.model().clone() };
        let (chosen, last) = match self.chosen(last.iteration)? {
            Some(chosen) => (chosen, Some(last)),
            None => (last, None),
        };
        let (Measured { metrics, guesses, probes }, features) = self.measured(arm, &chosen)?;
        let iterations = trainer.step_number() as usize;
        events.scalars(iterations, metrics.iter().map(|(name, value)| (name.as_str(), *value)))?;
        events.flush()?;
        self.log.flush()?;

        let of_arm = (arms > 1).then_some(arm.name.as_str());
        self.write_model(MODEL, of_arm, &chosen.model.encoder)?;
        if let Some(last) = &last {
            self.write_model(LAST_MODEL, of_arm, &last.model.encoder)?;
        }
        let mut result = ArmResult {
            name: arm.name.clone(),
            objective: arm.objective.name.clone(),
            iterations,
            final_loss: final_loss(&self.folder.measurements()?, arm, iterations),
            training_seconds: self.standing.arm_seconds,
            metrics,
            probes,
            protocol: self.protocol(chosen.iteration),
            last: last
                .map(|last| self.measured(arm, &last).map(|(measured, _)| measured.metrics))
                .transpose()?,
            evaluations: self.standing.evaluations.clone(),
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

    fn protocol(&self, iteration: u64) -> String {
        let Splits { train, test, .. } = &self.splits;
        let judged = self.recipe.data.judged();
        let objectives = self.recipe.probe.objectives.iter().map(|one| format!("; {}", one.in_words()));
        format!(
            "{}, fitted to {} training images and measured on {} {judged} images{}; {}",
            in_words(&self.recipe.probe, Probe::Linear),
            train.len(),
            test.len(),
            objectives.collect::<String>(),
            self.choice(iteration)
        )
    }

    /// An encoder as a file of that name, and of the arm's where there are several.
    fn write_model(&self, name: &str, arm: Option<&str>, encoder: &Encoder) -> Result<()> {
        let checkpoint = Checkpoint { metadata: self.metadata()?, encoder: encoder.clone(), head: None };
        let bytes = pollster::block_on(checkpoint.to_bytes())?;
        if let Some(arm) = arm {
            self.folder.write(model_of(name, arm), &bytes)?;
        }
        self.folder.write(name, &bytes)
    }

    /// What a model file says of itself.
    pub(super) fn metadata(&self) -> Result<Metadata> {
        let Normalisation { mean, std } = self.recipe.normalisation().map_err(usage)?;
        let mut metadata = Metadata::new(self.recipe.encoder.config.clone(), mean, std);
        metadata.resize = self.recipe.data.resize();
        metadata.recipe = serde_json::to_value(&self.recipe)?;
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

    pub(super) fn save(&mut self, trainer: Option<&simile_core::train::Trainer>, before: f64) -> Result<()> {
        self.standing.metrics_bytes = self.log.flush()?;
        self.standing.seconds = before + self.begun.elapsed().as_secs_f64();
        let bytes = trainer.map(|trainer| pollster::block_on(trainer.to_bytes())).transpose()?;
        self.standing.write(&self.folder, bytes.as_deref())
    }

    pub(super) fn interrupted(&self) -> anyhow::Error {
        let run = self.folder.root().display();
        Interrupted(format!("continue with `simile train --resume {run}`")).into()
    }

    fn finish(self) -> Result<RunResult> {
        let result = RunResult {
            recipe: self.recipe.name.clone(),
            condition: self.recipe.probe.condition.clone(),
            seed: self.recipe.train.seed,
            device: self.team.to_string(),
            version: env!("CARGO_PKG_VERSION").into(),
            seconds: self.standing.seconds,
            arms: self.standing.finished,
            untrained: self.standing.untrained,
            base_rates: self.standing.base_rates,
        };
        self.folder.write_json(RESULT, &result)?;
        let record = RunRecord::read(self.folder.root())?;
        self.folder.write(REPORT, page(&[record])?)?;
        Ok(result)
    }
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
