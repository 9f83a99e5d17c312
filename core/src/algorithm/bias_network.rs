//! Debiasing with a network that is trained first and then frozen.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::class_scores::class_scores;
use super::debiased_pair::{BiasedInput, biased_network};
use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, FIRST_STEPS, Meaning, check_stages};
use super::state::TRAINED;
use super::with_classifier::{check_weight, cross_entropy, images_to_classify};
use super::workload::{Network, StepContext, Workload, parameters};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::Result;
use crate::loss;
use crate::loss::Objective;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::nn::checkpoint::CheckpointError;
use crate::nn::head::{HeadConfig, HeadKind};
use crate::nn::layers::uniform_fan_in;
use crate::nn::{EncoderConfig, Model};
use crate::optim::Optimizer;

/// A network that learns with the help of one that can only learn the bias, which is trained first and then frozen.
///
/// | objective | input from the biased network `g` |
/// |---|---|
/// | [`learned-mixin`](crate::loss::LearnedMixin) | its scores, times a factor computed from the main network's features |
/// | [`rubi`](crate::loss::Rubi) | its features, from which a linear layer computes a mask of the main network's scores |
/// | [`softcon`](crate::loss::SoftCon) | its features, whose cosines weigh the positives |
///
/// In the first `first_steps` steps `g` alone descends the cross-entropy, at the base rate as released; from then on its
/// running statistics and weights are fixed, and the main network and the linear layer descend the objective, over the
/// whole schedule of the rate. Published for BiasedMNIST: `g` has 1×1 kernels, 5 epochs before LearnedMixin (Bahng et
/// al., 2020), all 80 before SoftCon (Hong and Yang, 2021).
///
/// `g` gets the samples without augmentation if the batch holds them ([`Views::plain`]): SoftCon compares views,
/// and its release computes the features of `g` once, from images that are not augmented. With `ce_weight` SoftCon
/// compares embeddings, and the head is a classifier that is trained jointly, on a separate batch of images, as in
/// [`WithClassifier`](super::WithClassifier); `g` then learns from those images too. Without it SoftCon compares
/// projections. RUBi's bias branch is trained along with the rest in its paper (Cadene et al., 2019); in ReBias'
/// comparison no gradient reaches it, as here. That comparison leaves the linear layer at its random initial
/// weights by mistake; here it is trained. The main network is evaluated. Input: `labels`.
#[derive(Debug)]
pub struct BiasNetwork {
    trained: TrainedNetworks,
    biased_input: BiasedInput,
    objective: Box<dyn Objective>,
    first_steps: u64,
    ce_weight: Option<f64>,
    steps: u64,
}

#[derive(Module, Debug)]
struct TrainedNetworks {
    debiased: Model,
    biased: Model,
    /// The trained linear layer of the objective; `None` if the objective has none.
    reader: Option<LinearLayer>,
}

/// A linear layer, `[outputs, inputs]` and `[1, outputs]`.
#[derive(Module, Debug)]
struct LinearLayer {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<2>>,
}

impl LinearLayer {
    fn init([inputs, outputs]: [usize; 2], device: &Device, rng: &mut impl Rng) -> Self {
        let weight = uniform_fan_in([outputs, inputs], inputs, device, rng);
        Self { weight, bias: uniform_fan_in([1, outputs], inputs, device, rng) }
    }
}

impl BiasNetwork {
    /// A main and a biased network, randomly initialised; the head of the biased network gives its class scores.
    /// `ce_weight` is for `softcon` only: with it the head of the main network gives class scores too.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        [debiased, biased]: [&ModelConfig; 2],
        objective: Box<dyn Objective>,
        (first_steps, ce_weight): (u64, Option<f64>),
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        let biased_input = BiasedInput::of(biased, debiased)?;
        let shape = linear_shape(objective.spec(), debiased, biased);
        // The main network comes first, so that it begins as those of other methods with the same seed do.
        let (debiased, biased) = (debiased.init(device, rng)?, biased.init(device, rng)?);
        let reader = shape.map(|shape| LinearLayer::init(shape, &device.clone().autodiff(), rng));
        let trained = TrainedNetworks { debiased, biased, reader };
        Ok(Self { trained, biased_input, objective, first_steps, ce_weight, steps: 0 })
    }

    /// True if only the biased network is trained.
    fn is_first(&self) -> bool {
        self.steps < self.first_steps
    }
}

/// Inputs and outputs of the linear layer of an objective, if it has one. Its inputs are the features that the objective names.
fn linear_shape(spec: &Spec, debiased: &ModelConfig, biased: &ModelConfig) -> Option<[usize; 2]> {
    let source = if spec.needs("g_features") { biased } else { debiased };
    let features = source.encoder.embedding_size();
    let number = |name: &str| if name == "classes" { debiased.head.output } else { features };
    let weights = spec.input("fc_weight")?.dims(number);
    Some([features, *weights.first()?])
}

impl Algorithm for BiasNetwork {
    fn name(&self) -> &'static str {
        "bias-network"
    }

    fn model(&self) -> &Model {
        &self.trained.debiased
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let is_first = self.is_first();
        let TrainedNetworks { debiased, biased, reader } = &self.trained;
        let plain = views.plain.as_ref().unwrap_or(&views.a);
        if is_first {
            let (images, classes) = match views.to_classify {
                Some(_) => images_to_classify(views, &context, self.name())?,
                None => (plain.clone(), context.indices(self.name(), "labels", views.samples())?.to_vec()),
            };
            return cross_entropy(passes::output(biased, self.biased_input.downsample(images)), classes);
        }
        let biased = biased.valid();
        let images = self.biased_input.downsample(plain.clone().without_autodiff());
        let features = biased.encoder.forward(images);
        let batch = match reader {
            Some(reader) => {
                let embeddings = debiased.encoder.forward(views.a.clone());
                context
                    .with_tensor("f_logits", debiased.head.forward(embeddings.clone()))
                    .with_tensor("f_features", embeddings)
                    .with_tensor("g_logits", biased.head.forward(features.clone()))
                    .with_tensor("g_features", features)
                    .with_tensor("fc_weight", reader.weight.val())
                    .with_tensor("fc_bias", reader.bias.val())
            }
            None => {
                let embeddings = passes::embed(debiased, views);
                let [a, b] = match self.ce_weight {
                    Some(_) => embeddings.split(),
                    None => embeddings.project(debiased).split(),
                };
                context
                    .with_tensor("view_a", a)
                    .with_tensor("view_b", b)
                    .with_tensor("bias_features", features)
            }
        };
        let loss = loss::loss(self.objective.as_ref(), &batch)?;
        let Some(weight) = self.ce_weight else { return Ok(loss) };
        let (images, classes) = images_to_classify(views, &batch, "bias-network")?;
        Ok(loss + cross_entropy(passes::output(debiased, images), classes)? * weight)
    }

    fn training_stage(&self, steps: u64) -> Range<u64> {
        let first = self.first_steps.min(steps);
        if self.is_first() { 0..first } else { first..steps }
    }

    fn is_scheduled(&self) -> bool {
        !self.is_first()
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)?;
        self.steps += 1;
        Ok(())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        state.value("steps", &self.steps)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        self.steps = state.value("steps")?;
        Ok(())
    }
}

/// The settings of [`BiasNetwork`]; the objective is LearnedMixin, RUBi or SoftCon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BiasNetworkSettings {
    /// The biased network; with a smaller `input_size` than the main network it gets averaged images.
    pub encoder: EncoderConfig,
    /// Number of steps in which only the biased network is trained.
    pub first_steps: u64,
    /// Factor of the cross-entropy of a classifier trained jointly with SoftCon, which then compares
    /// embeddings: 0.01 as published. If absent there is no classifier, and SoftCon compares projections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ce_weight: Option<f64>,
}

impl AlgorithmSettings for BiasNetworkSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            ("encoder", "The biased network, with the keys of [encoder]; has to be given."),
            FIRST_STEPS,
            (
                "ce_weight",
                "Factor of the cross-entropy of a classifier that is trained too, 0 or more; no classifier if absent.",
            ),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[
            [r#"{"encoder": {"name": "simple-conv-1x1"}, "first_steps": 1}"#, "learned-mixin", "lenet5"],
            [r#"{"encoder": {"name": "simple-conv-1x1"}, "first_steps": 1}"#, "rubi", "lenet5"],
            [
                r#"{"encoder": {"name": "simple-conv-1x1", "input_size": 8}, "first_steps": 1}"#,
                "softcon",
                "lenet5",
            ],
            [
                r#"{"encoder": {"name": "simple-conv-1x1"}, "first_steps": 1, "ce_weight": 0.01}"#,
                "softcon",
                "lenet5",
            ],
        ]
    }

    fn check(&self, objective: &Spec, steps: u64) -> Result<()> {
        check_stages(self.first_steps, steps)?;
        let takes_weight = objective.needs_views();
        check_weight(self.ce_weight, takes_weight, "which is a classifier itself; leave it out")
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let AlgorithmContext { network, training, device, .. } = *context;
        let label_count = training.labels.iter().max().map_or(0, |last| last + 1);
        // Scores of both networks are compared class by class, also where the last class has no sample.
        let main = class_scores(&context.objective.name, label_count, training.bias_count);
        let classes = main.map_or(label_count, |_| network.head.output);
        let scores = HeadConfig { kind: HeadKind::Linear, output: classes, ..HeadConfig::default() };
        let biased = biased_network(network, Some(&self.encoder), scores);
        let (both, steps) = ([network, &biased], (self.first_steps, self.ce_weight));
        Ok(Box::new(BiasNetwork::new(both, context.objective.build()?, steps, device, rng)?))
    }

    /// The workload of a step of the second stage, in which the biased network is fixed.
    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let pairs = match self.ce_weight {
            Some(_) => step.pairs_of_embeddings(2 * step.samples, 2 * step.samples),
            None => step.pairs_of_views(),
        };
        let mut workload = Workload { pairs, ..step.base() };
        let biased =
            biased_network(step.network_config, Some(&self.encoder), step.network_config.head.clone());
        workload.fixed = parameters(&biased);
        workload.add_forward_work(step.samples, &Network::of(&biased));
        workload.add_training_pass(step.views(), &step.network);
        if self.takes_images_to_classify() {
            workload.add_training_pass(step.to_classify, &step.network);
        }
        workload
    }

    fn takes_images_to_classify(&self) -> bool {
        self.ce_weight.is_some()
    }

    fn takes_plain(&self, objective: &Spec) -> bool {
        objective.needs_views()
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
    use super::super::testing::{LABELS, falls, network, refusal, rng, train, views};
    use super::*;
    use crate::loss::{LearnedMixin, Rubi, SoftCon};
    use crate::nn::Architecture;
    use crate::nn::checkpoint::flattened;

    fn algorithm(objective: Box<dyn Objective>, first_steps: u64) -> BiasNetwork {
        let encoder = EncoderConfig { name: Architecture::SimpleConv1x1, ..EncoderConfig::default() };
        let biased = ModelConfig { encoder, ..network(3) };
        let steps = (first_steps, None);
        BiasNetwork::new([&network(3), &biased], objective, steps, &Device::flex(), &mut rng(5)).unwrap()
    }

    fn objectives() -> [Box<dyn Objective>; 3] {
        [Box::new(LearnedMixin::default()), Box::new(Rubi::default()), Box::new(SoftCon::default())]
    }

    fn weights(model: &Model) -> Vec<f32> {
        let values =
            |module: crate::nn::checkpoint::Flat| module.values.into_data().iter::<f32>().collect::<Vec<_>>();
        flattened("", model).into_iter().flat_map(values).collect()
    }

    #[test]
    fn first_one_network_learns_and_then_the_other() {
        let context = Batch::default().with_indices("labels", LABELS.to_vec());
        for objective in objectives() {
            let name = objective.name();
            let mut algorithm = algorithm(objective, 4);
            let of = |algorithm: &BiasNetwork| {
                [weights(&algorithm.trained.biased), weights(&algorithm.trained.debiased)]
            };
            let [biased, debiased] = of(&algorithm);
            assert!(falls(&train(&mut algorithm, &context, 4)), "{name}");
            let [taught, waiting] = of(&algorithm);
            assert!(taught != biased && waiting == debiased, "{name}");
            assert!(falls(&train(&mut algorithm, &context, 6)), "{name}");
            let [fixed, learnt] = of(&algorithm);
            assert!(fixed == taught && learnt != waiting, "{name}");
        }
    }

    #[test]
    fn what_reads_the_biased_network_learns_too() {
        let context = Batch::default().with_indices("labels", LABELS.to_vec());
        for objective in objectives() {
            let mut algorithm = algorithm(objective, 0);
            let weight = |algorithm: &BiasNetwork| {
                let reader = algorithm.trained.reader.as_ref()?;
                Some(reader.weight.val().into_data().iter::<f32>().collect::<Vec<_>>())
            };
            let before = weight(&algorithm);
            let loss = algorithm.loss(&views(6, 3), context.clone()).unwrap();
            let mut optimizer = Optimizer::new(crate::optim::OptimizerConfig::default()).unwrap();
            algorithm.descend(loss, &mut optimizer, 1e-2).unwrap();
            assert_eq!(weight(&algorithm) == before, before.is_none(), "{}", algorithm.objective.name());
        }
    }

    #[test]
    fn the_schedule_is_that_of_the_second_stage() {
        let context = Batch::default().with_indices("labels", LABELS.to_vec());
        let mut algorithm = algorithm(Box::new(Rubi::default()), 2);
        let stand = |algorithm: &BiasNetwork| (algorithm.training_stage(10), algorithm.is_scheduled());
        assert_eq!(stand(&algorithm), (0..2, false));
        train(&mut algorithm, &context, 2);
        assert_eq!(stand(&algorithm), (2..10, true));
    }

    #[test]
    fn softcon_weighs_by_images_as_they_are_and_learns_classes_beside() {
        let context = Batch::default()
            .with_indices("labels", vec![0, 0, 0, 1, 1, 1])
            .with_indices("ce_labels", vec![1, 2]);
        let value = |algorithm: &mut BiasNetwork, views: &Views| -> f64 {
            algorithm.loss(views, context.clone()).unwrap().inner().into_scalar()
        };
        let mut algorithm = algorithm(Box::new(SoftCon::default()), 0);
        let (plain, seen) = (views(6, 9).a.inner(), views(6, 3));
        let of_views = value(&mut algorithm, &seen);
        let seen = seen.with_plain(plain).unwrap();
        assert_ne!(value(&mut algorithm, &seen), of_views);

        // With a classifier the embeddings are compared, and its cross-entropy is added.
        let seen = seen.with_images_to_classify(views(2, 4).a.inner()).unwrap();
        algorithm.ce_weight = Some(0.0);
        let contrast = value(&mut algorithm, &seen);
        algorithm.ce_weight = Some(1.0);
        let added = value(&mut algorithm, &seen) - contrast;
        assert!((0.3..3.0).contains(&added), "{added}");
        algorithm.ce_weight = None;
        assert_ne!(value(&mut algorithm, &seen), contrast);
    }

    #[test]
    fn a_factor_beside_an_objective_that_classifies_is_named() {
        let method = r#"{"name": "bias-network", "encoder": {}, "first_steps": 1, "ce_weight": 0.1}"#;
        assert!(refusal(method, "rubi").contains("method.ce_weight"));
    }
}
