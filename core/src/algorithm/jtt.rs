//! Just train twice.

use std::ops::Range;

use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, FIRST_STEPS, Meaning, check_stages};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::loss::{CrossEntropy, Objective, error_set};
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::numeric::matrix::Matrix;
use crate::optim::Optimizer;

/// The stage of training.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JttStage {
    /// The network that finds the error set is trained.
    First,
    /// The network that learns from the error set is trained.
    Second {
        /// For each training sample, 1 if the first network misclassifies it.
        errors: Vec<usize>,
    },
}

/// A classifier in one of two stages.
///
/// Just train twice: a first network finds the samples that it misclassifies, a second network gives these more
/// weight.
///
/// Liu et al., *Just Train Twice* (2021), with the loss of [`loss::Jtt`]. The first stage is plain cross-entropy, meant to be
/// short (1 epoch on CelebA, 60 on Waterbirds as published). [`begin_training_stage`](Algorithm::begin_training_stage) then takes its
/// scores on the whole training set, keeps the error set, and starts a fresh network. Inputs: `labels`, and in the second stage the
/// indices `samples` of the batch in the training set.
#[derive(Debug)]
pub struct Jtt {
    network: ModelConfig,
    model: Model,
    objective: loss::Jtt,
    first_steps: u64,
    labels: Vec<usize>,
    device: Device,
    stage: JttStage,
}

impl Jtt {
    /// The first network, randomly initialised. `labels` are the classes of all training samples; the first stage
    /// has `first_steps` steps.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: loss::Jtt,
        first_steps: u64,
        labels: Vec<usize>,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        let model = network.init(device, rng)?;
        let (network, device) = (network.clone(), device.clone());
        let stage = JttStage::First;
        Ok(Self { network, model, objective, first_steps, labels, device, stage })
    }
}

impl Algorithm for Jtt {
    fn name(&self) -> &'static str {
        "jtt"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let scores = passes::output(&self.model, views.a.clone());
        let batch = context.with_tensor("logits", scores);
        let JttStage::Second { errors } = &self.stage else {
            return loss::loss(&CrossEntropy::default(), &batch);
        };
        let samples = batch.indices("jtt", "samples", views.samples())?;
        let is_error = |&sample: &usize| {
            let sample_name = || format!("sample {sample}");
            errors.get(sample).copied().ok_or_else(|| {
                Error::shape("samples", format!("samples below {}", errors.len()), sample_name())
            })
        };
        let errors = samples.iter().map(is_error).collect::<Result<Vec<usize>>>()?;
        loss::loss(&self.objective, &batch.with_indices("errors", errors))
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.model, loss, optimizer, learning_rate)
    }

    fn training_stage(&self, steps: u64) -> Range<u64> {
        let first = self.first_steps.min(steps);
        if self.stage == JttStage::First { 0..first } else { first..steps }
    }

    fn begin_training_stage(&mut self, scores: &Matrix, rng: &mut ChaCha8Rng) -> Result<usize> {
        if self.stage != JttStage::First {
            return Err(Error::Degenerate {
                reason: "the second stage has begun already".into(),
                remedy: "take the error set from the first network".into(),
            });
        }
        let misclassified = error_set(scores, &self.labels)?;
        let mut errors = vec![0; self.labels.len()];
        misclassified.iter().for_each(|&i| errors[i] = 1);
        self.model = self.network.init(&self.device, rng)?;
        self.stage = JttStage::Second { errors };
        Ok(misclassified.len())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.model);
        state.value("stage", &self.stage)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(TRAINED, self.model.clone())?;
        self.stage = state.value("stage")?;
        Ok(())
    }
}

/// The settings of [`Jtt`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JttSettings {
    /// Steps of the first stage, out of those of the run.
    pub first_steps: u64,
}

impl AlgorithmSettings for JttSettings {
    fn meanings() -> &'static [Meaning] {
        &[FIRST_STEPS]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[[r#"{"first_steps": 5}"#, "jtt", "lenet5"]]
    }

    fn check(&self, _objective: &Spec, steps: u64) -> Result<()> {
        check_stages(self.first_steps, steps)
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let (objective, labels) = (context.objective.parse()?, context.training.labels.clone());
        let AlgorithmContext { network, device, .. } = *context;
        Ok(Box::new(Jtt::new(network, objective, self.first_steps, labels, device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = step.base();
        workload.add_training_pass(step.samples, &step.network);
        workload
    }

    fn first_steps(&self) -> Option<u64> {
        Some(self.first_steps)
    }

    fn first_steps_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.first_steps)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, train};
    use super::*;

    fn algorithm(labels: &[usize]) -> Jtt {
        let (objective, device) = (loss::Jtt::default(), Device::flex());
        Jtt::new(&network(3), objective, 4, labels.to_vec(), &device, &mut rng(8)).unwrap()
    }

    #[test]
    fn the_second_stage_starts_afresh_and_counts_errors_more() {
        let labels = vec![0, 1, 2, 0, 1, 2];
        let context = Batch::default()
            .with_indices("labels", labels.clone())
            .with_indices("samples", vec![0, 1, 2, 3, 4, 5]);
        let mut algorithm = algorithm(&labels);
        assert_eq!(algorithm.training_stage(10), 0..4);
        let first = train(&mut algorithm, &context, 4);
        assert!(falls(&first));

        let scores = Matrix::from_fn(6, 3, |_, class| if class == 0 { 1.0 } else { 0.0 });
        assert_eq!(algorithm.begin_training_stage(&scores, &mut rng(8)).unwrap(), 4);
        assert_eq!(algorithm.stage, JttStage::Second { errors: vec![0, 1, 1, 0, 1, 1] });
        assert_eq!(algorithm.training_stage(10), 4..10);
        let second = train(&mut algorithm, &context, 4);
        // The same random initial weights, and four of six samples count 20 times.
        assert!(second[0] > 5.0 * first[0] && falls(&second));
        assert!(algorithm.begin_training_stage(&scores, &mut rng(8)).is_err());
    }

    #[test]
    fn a_sample_beyond_the_training_set_is_named() {
        let mut algorithm = algorithm(&[0, 1]);
        algorithm.begin_training_stage(&Matrix::zeros(2, 3), &mut rng(8)).unwrap();
        let context = Batch::default().with_indices("labels", vec![0; 6]).with_indices("samples", vec![7; 6]);
        let error = algorithm.loss(&super::super::testing::views(6, 1), context).unwrap_err().to_string();
        assert!(error.contains("sample 7"), "{error}");
    }

    #[test]
    fn a_first_stage_as_long_as_the_run_is_named() {
        assert!(refusal(r#"{"name": "jtt", "first_steps": 10}"#, "jtt").contains("method.first_steps"));
    }
}
