//! ReBias.

use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::debiased_pair::{BiasedInput, DebiasedPair, biased_network};
use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, Meaning};
use super::state::TRAINED;
use super::workload::{Network, StepContext, Workload, parameters};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Result, single};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::loss::{CrossEntropy, Objective, RebiasHsic};
use crate::nn::checkpoint::CheckpointError;
use crate::nn::{EncoderConfig, Model};
use crate::optim::Optimizer;

/// The fewest samples for which [`RebiasHsic`] is defined.
const FEWEST: usize = 4;

/// The debiased and the biased classifier.
///
/// ReBias: a classifier is kept independent of one that can only learn the bias.
///
/// Bahng et al., *Learning De-biased Representations with Biased Representations* (2020):
///
/// ```text
/// f descends CE(f) + lambda HSIC(f, g),   g descends CE(g) - lambda HSIC(f, g)
/// ```
///
/// with the mean cross-entropies `CE`, and the embeddings of both networks in the criterion of [`RebiasHsic`]. `g` has a small
/// receptive field in the paper; here both architectures are the caller's. Released: `lambda` = 1, both bandwidths 1. The debiased
/// classifier `f` is evaluated. Input: `labels`.
///
/// The criterion is not defined for fewer than four samples. A batch of so few, such as the last one of an epoch, is descended by
/// the cross-entropies alone.
#[derive(Debug)]
pub struct Rebias {
    trained: DebiasedPair,
    biased_input: BiasedInput,
    independence: RebiasHsic,
    lambda: f64,
}

impl Rebias {
    /// Two randomly initialised classifiers.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        [debiased, biased]: [&ModelConfig; 2],
        independence: RebiasHsic,
        lambda: f64,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        independence.check()?;
        single("lambda", lambda)?;
        let biased_input = BiasedInput::of(biased, debiased)?;
        let trained =
            DebiasedPair { debiased: debiased.init(device, rng)?, biased: biased.init(device, rng)? };
        Ok(Self { trained, biased_input, independence, lambda })
    }
}

impl Algorithm for Rebias {
    fn name(&self) -> &'static str {
        "rebias"
    }

    fn model(&self) -> &Model {
        &self.trained.debiased
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let classify = |model: &Model, images| -> Result<(Tensor<2>, Tensor<1>)> {
            let embeddings = model.encoder.forward(images);
            let batch = context.clone().with_tensor("logits", model.head.forward(embeddings.clone()));
            Ok((embeddings, loss::loss(&CrossEntropy::default(), &batch)?))
        };
        let (f, loss_f) = classify(&self.trained.debiased, views.a.clone())?;
        let (g, loss_g) = classify(&self.trained.biased, self.biased_input.downsample(views.a.clone()))?;
        if views.samples() < FEWEST {
            return Ok(loss_f + loss_g);
        }
        // The criterion enters with opposite signs, so each network gets a criterion in which the other network is
        // fixed.
        let dependence = |a: Tensor<2>, b: Tensor<2>| loss::loss(&self.independence, &Batch::views(a, b));
        let dependence_f = dependence(f.clone(), g.clone().without_autodiff())?;
        let dependence_g = dependence(f.without_autodiff(), g)?;
        Ok(loss_f + loss_g + (dependence_f - dependence_g) * self.lambda)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        Ok(())
    }
}

/// The settings of [`Rebias`]; the objective is its independence criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RebiasSettings {
    /// Factor of the criterion. Default: 1, as published.
    pub lambda: f64,
    /// The biased network. Default: that of the debiased network. Published: 1×1 kernels. With a smaller
    /// `input_size` it gets averaged images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderConfig>,
}

impl Default for RebiasSettings {
    fn default() -> Self {
        Self { lambda: 1.0, encoder: None }
    }
}

impl RebiasSettings {
    fn biased(&self, main: &ModelConfig) -> ModelConfig {
        biased_network(main, self.encoder.as_ref(), main.head.clone())
    }
}

impl AlgorithmSettings for RebiasSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            ("lambda", "Factor of the independence criterion, 0 or more; 1 by default."),
            ("encoder", "The biased network, with the keys of [encoder]; like the main one by default."),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[
            ["{}", "rebias-hsic", "lenet5"],
            [r#"{"encoder": {"name": "simple-conv-1x1", "input_size": 8}}"#, "rebias-hsic", "lenet5"],
        ]
    }

    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        single("method.lambda", self.lambda).map(drop)
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let both = [context.network, &self.biased(context.network)];
        Ok(Box::new(Rebias::new(both, context.objective.parse()?, self.lambda, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let biased = self.biased(step.network_config);
        let pairs = step.pairs_of_embeddings(step.samples, step.samples);
        let mut workload = Workload { pairs, ..step.base() };
        workload.trained += parameters(&biased);
        workload.add_training_pass(step.samples, &step.network);
        workload.add_training_pass(step.samples, &Network::of(&biased));
        workload
    }

    /// Its objective takes the embeddings of two networks where others take those of two views.
    fn sees_two_views(&self, _objective: &Spec) -> bool {
        false
    }

    fn least_batch(&self) -> usize {
        FEWEST
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, train, views};
    use super::*;
    use crate::nn::checkpoint::flattened;
    use crate::optim::OptimizerConfig;
    use crate::optim::rules::Sgd;

    #[test]
    fn a_batch_too_small_for_the_criterion_is_descended_by_the_entropies() {
        let network = network(3);
        // The criterion changes gradients alone, because its values for both networks cancel.
        let moved = |samples: usize, lambda: f64| {
            let independence = RebiasHsic::default();
            let mut algorithm =
                Rebias::new([&network; 2], independence, lambda, &Device::flex(), &mut rng(6)).unwrap();
            let sgd = Sgd { learning_rate: 1.0, momentum: 0.0, ..Sgd::default() };
            let mut optimizer = Optimizer::new(OptimizerConfig::Sgd(sgd)).unwrap();
            let context = Batch::default().with_indices("labels", vec![0; samples]);
            let loss = algorithm.loss(&views(samples, 7), context).unwrap();
            algorithm.descend(loss, &mut optimizer, 1.0).unwrap();
            let weight = flattened("", &algorithm.model().encoder).remove(0).values;
            weight.into_data().iter::<f32>().collect::<Vec<_>>()
        };
        for samples in 1..4 {
            assert_eq!(moved(samples, 100.0), moved(samples, 0.0), "{samples}");
        }
        assert_ne!(moved(4, 100.0), moved(4, 0.0));
    }

    #[test]
    fn it_learns() {
        let context = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1, 2]);
        let network = network(3);
        let mut algorithm =
            Rebias::new([&network; 2], RebiasHsic::default(), 1.0, &Device::flex(), &mut rng(6)).unwrap();
        assert!(falls(&train(&mut algorithm, &context, 4)));
    }

    #[test]
    fn a_factor_out_of_range_is_named() {
        assert!(refusal(r#"{"name": "rebias", "lambda": -1}"#, "rebias-hsic").contains("method.lambda"));
    }
}
