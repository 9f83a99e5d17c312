//! The algorithm section of a recipe.

use serde::{Deserialize, Serialize};

use super::DifficultyEncoder;
use super::rebias;
use super::wcl::BIASED_RATE;
use super::with_classifier::includes_cross_entropy;
use crate::error::{Error, Result, positive, within};
use crate::loss::spec::Spec;
use crate::loss::{self, Objective, ObjectiveConfig, WclTriplet};
use crate::nn::EncoderConfig;
use crate::nn::head::HeadConfig;

/// The algorithm, with the settings of its state. The loss has separate settings, an [`ObjectiveConfig`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
pub enum AlgorithmConfig {
    /// Any objective on two views.
    Single {},
    /// Any objective on two views, for a batch larger than memory.
    Cached {
        /// Samples in memory at once.
        chunk: usize,
        /// The samples whose mean and variance batch norm takes. Default: those of a chunk.
        #[serde(default, skip_serializing_if = "BatchStatistics::is_default")]
        statistics: BatchStatistics,
    },
    /// Any contrastive objective on embeddings, with a jointly trained classifier.
    WithClassifier {
        /// Factor of its cross-entropy. Default: 0.01, as published; `biascon-total` sets its factor in the objective.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_weight: Option<f64>,
    },
    /// Momentum contrast.
    Moco {
        /// Number of keys in the queue. Default: 65,536, as published.
        #[serde(default = "published::queue")]
        queue: usize,
        /// Momentum of the key encoder. Default: 0.999, as published.
        #[serde(default = "published::key_momentum")]
        momentum: f64,
    },
    /// Bootstrap your own latent.
    Byol {
        /// Momentum of the target at the first step. Default: 0.996, as published.
        #[serde(default = "published::target_momentum")]
        momentum: f64,
        /// True if the momentum rises to 1 over training. Default: true, as published.
        #[serde(default = "published::rising")]
        rising: bool,
        /// The network from projections to predictions. Default: the layers of the head, without an activation
        /// before the first one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predictor: Option<HeadConfig>,
    },
    /// Prototypes.
    Swav {
        /// Number of prototypes. Default: 3000, as published.
        #[serde(default = "published::prototypes")]
        prototypes: usize,
        /// Number of initial steps with fixed prototypes; published: one epoch. Default: 0.
        #[serde(default)]
        frozen_steps: u64,
        /// Number of earlier embeddings of each view in the queue, which are assigned together with a batch;
        /// released for batches of 256: 3840. Default: 0, no queue.
        #[serde(default)]
        queue: usize,
        /// Number of steps before the queue is filled; released: 15 epochs. Default: 0.
        #[serde(default)]
        queue_from: u64,
    },
    /// Difficulty-based weighting; the objective is the weighted loss.
    Difficulty {
        /// The bias-amplifying network's loss.
        #[serde(default)]
        triplet: WclTriplet,
        /// The network that is evaluated and exported.
        #[serde(default)]
        evaluated: DifficultyEncoder,
        /// Base learning rate of the bias-amplifying network; default: that of the optimiser. Released: 1e-2,
        /// beside 1e-3 on CIFAR and 3e-2 on ImageNet-100.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        biased_learning_rate: Option<f64>,
    },
    /// Learning from failure.
    Lff {
        /// Fraction that a moving average keeps at each visit, 0.7 as released. If absent, the weights are those
        /// printed in the paper.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ema_alpha: Option<f64>,
    },
    /// ReBias; the objective is its independence criterion.
    Rebias {
        /// Factor of the criterion. Default: 1, as published.
        #[serde(default = "published::lambda")]
        lambda: f64,
        /// The biased network. Default: that of the debiased network. Published: 1×1 kernels. With a smaller
        /// `input_size` it gets averaged images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encoder: Option<EncoderConfig>,
    },
    /// A network that learns the bias first and then helps the objective: LearnedMixin, RUBi or SoftCon.
    BiasNetwork {
        /// The biased network; with a smaller `input_size` than the main network it gets averaged images.
        encoder: EncoderConfig,
        /// Number of steps in which only the biased network is trained.
        first_steps: u64,
        /// Factor of the cross-entropy of a classifier trained jointly with SoftCon, which then compares
        /// embeddings: 0.01 as published. If absent there is no classifier, and SoftCon compares projections.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_weight: Option<f64>,
    },
    /// Learning not to learn.
    Lnl {
        /// The bias predictor, whose `output` is the number of values of the bias; a linear one if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        predictor: Option<HeadConfig>,
        /// Weight with which the encoder ascends the loss of the bias predictor. Default: 0.1.
        #[serde(default = "published::reversal")]
        reversal: f64,
    },
    /// Just train twice.
    Jtt {
        /// Steps of the first stage, out of those of the run.
        first_steps: u64,
    },
    /// A variational autoencoder.
    Vae {},
    /// A generative adversarial network; the objective separates real from generated images.
    Dcgan {},
}

/// The samples whose statistics normalise a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchStatistics {
    /// Each chunk is normalised by its own statistics, as each device is in distributed training. The result differs from one pass.
    #[default]
    Chunk,
    /// All chunks are normalised by the statistics of the batch, as in synchronised batch norm. The result equals one pass up to
    /// rounding. It costs another forward pass, and memory for the batch between the blocks of the network.
    Batch,
}

impl BatchStatistics {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Defaults.
pub(super) mod published {
    pub(super) fn queue() -> usize {
        65_536
    }

    pub(super) fn key_momentum() -> f64 {
        0.999
    }

    pub(super) fn target_momentum() -> f64 {
        0.996
    }

    pub(super) fn rising() -> bool {
        true
    }

    pub(super) fn prototypes() -> usize {
        3000
    }

    pub(super) fn lambda() -> f64 {
        1.0
    }

    pub(in crate::algorithm) fn ce_weight() -> f64 {
        0.01
    }

    pub(super) fn reversal() -> f64 {
        0.1
    }
}

impl Default for AlgorithmConfig {
    fn default() -> Self {
        Self::Single {}
    }
}

/// The properties of the training set that an algorithm may need.
#[derive(Debug, Clone, Default)]
pub struct TrainingSet {
    /// The class of each sample.
    pub labels: Vec<usize>,
    /// Number of values that the bias takes; 0 if there is none.
    pub biases: usize,
}

impl AlgorithmConfig {
    /// Checks that the algorithm can train an objective over a run of `steps`, as far as possible without data.
    ///
    /// # Errors
    /// A setting is out of range, or the objective belongs to another algorithm.
    pub fn check(&self, objective: &ObjectiveConfig, steps: u64) -> Result<()> {
        let built = objective.build()?;
        let spec = built.spec();
        self.check_trains(spec)?;
        let at_least_one = |name, count| match count {
            0 => Err(Error::parameter(name, count, "expected 1 or more")),
            _ => Ok(()),
        };
        match self {
            Self::Single {} | Self::Vae {} | Self::Dcgan {} => Ok(()),
            Self::Difficulty { triplet, biased_learning_rate, .. } => {
                triplet.check()?;
                biased_learning_rate.map_or(Ok(()), |rate| positive(BIASED_RATE, rate).map(drop))
            }
            Self::Cached { chunk, statistics } => {
                if *statistics == BatchStatistics::Batch && spec.head.scores(1, 1).is_some() {
                    let expected =
                        "expected `chunk` beside an objective of class scores, which compares no samples";
                    return Err(Error::parameter("method.statistics", "batch", expected));
                }
                at_least_one("method.chunk", *chunk)
            }
            Self::Moco { queue, momentum } => {
                at_least_one("method.queue", *queue)?;
                within("method.momentum", *momentum, 0.0, 1.0).map(drop)
            }
            Self::Byol { momentum, .. } => within("method.momentum", *momentum, 0.0, 1.0).map(drop),
            Self::Swav { queue: 0, queue_from: from @ 1.., .. } => {
                Err(Error::parameter("method.queue_from", from, "but there is no queue; set method.queue"))
            }
            Self::Swav { prototypes, .. } => at_least_one("method.prototypes", *prototypes),
            Self::Lff { ema_alpha } => {
                ema_alpha.map_or(Ok(()), |alpha| within("method.ema_alpha", alpha, 0.0, 1.0).map(drop))
            }
            Self::Rebias { lambda, .. } => within("method.lambda", *lambda, 0.0, f64::MAX).map(drop),
            Self::Lnl { reversal, .. } => within("method.reversal", *reversal, 0.0, f64::MAX).map(drop),
            Self::WithClassifier { ce_weight } => {
                let taken = !includes_cross_entropy(spec);
                classifier_beside(*ce_weight, taken, "which has a `ce_weight` of its own; set that one")
            }
            Self::Jtt { first_steps } => check_stages(*first_steps, steps),
            Self::BiasNetwork { first_steps, ce_weight, .. } => {
                check_stages(*first_steps, steps)?;
                let taken = spec.needs_views();
                classifier_beside(*ce_weight, taken, "which is a classifier itself; leave it out")
            }
        }
    }

    /// The name in recipes. Descriptions of objectives list the algorithms that train them by this name.
    fn name(&self) -> String {
        let document = serde_json::to_value(self).unwrap_or_default();
        document["name"].as_str().unwrap_or_default().to_owned()
    }

    /// Checks that the algorithm trains an objective; otherwise names those that do.
    fn check_trains(&self, spec: &Spec) -> Result<()> {
        let name = self.name();
        match spec.methods {
            methods if methods.contains(&name.as_str()) => Ok(()),
            [] => {
                let reason = match spec.part_of {
                    [] => "but no method trains it".to_owned(),
                    methods => {
                        format!("but no method trains it alone; it is part of `{}`", methods.join("`, `"))
                    }
                };
                Err(Error::parameter("objective.name", spec.name, &reason))
            }
            methods => {
                let of = format!("but `{}` is trained by `{}`", spec.name, methods.join("`, `"));
                Err(Error::parameter("method.name", name, &of))
            }
        }
    }

    /// The steps of the first of two stages, if the algorithm has two.
    pub fn first_steps(&self) -> Option<u64> {
        match self {
            Self::Jtt { first_steps } | Self::BiasNetwork { first_steps, .. } => Some(*first_steps),
            _ => None,
        }
    }

    /// The fewest samples of a batch on which the algorithm trains as it is defined.
    pub fn least_batch(&self) -> usize {
        match self {
            Self::Rebias { .. } => rebias::FEWEST,
            _ => 2,
        }
    }

    /// Number of scores that the network's head must give, for `classes` and a bias of `biases` values; `None` if
    /// the objective compares projections.
    pub fn scores(&self, objective: &str, classes: usize, biases: usize) -> Option<usize> {
        match self {
            Self::Dcgan {} => Some(1),
            _ if self.takes_classified() => Some(classes),
            _ => class_scores(objective, classes, biases),
        }
    }

    /// True if a classifier is trained jointly with the objective, on a separate batch of images if there is one.
    pub fn takes_classified(&self) -> bool {
        matches!(self, Self::WithClassifier { .. } | Self::BiasNetwork { ce_weight: Some(_), .. })
    }

    /// True if the algorithm has a network that needs the samples without augmentation.
    pub fn takes_plain(&self, objective: &str) -> bool {
        matches!(self, Self::BiasNetwork { .. }) && compares_views(objective)
    }
}

/// Checks the steps of the first of two stages.
fn check_stages(first_steps: u64, steps: u64) -> Result<()> {
    match first_steps {
        1.. if first_steps < steps => Ok(()),
        _ => {
            let range = format!("expected at least 1 and less than the {steps} of the run");
            Err(Error::parameter("method.first_steps", first_steps, &range))
        }
    }
}

/// Checks the factor of a jointly trained classifier; only some objectives take one.
fn classifier_beside(ce_weight: Option<f64>, taken: bool, otherwise: &str) -> Result<()> {
    match ce_weight {
        None => Ok(()),
        Some(weight) if taken => within("method.ce_weight", weight, 0.0, f64::MAX).map(drop),
        Some(weight) => Err(Error::parameter(
            "method.ce_weight",
            weight,
            &format!("but not beside this objective, {otherwise}"),
        )),
    }
}

/// True if an objective compares the embeddings of two views.
pub(super) fn compares_views(objective: &str) -> bool {
    loss::spec(objective).is_ok_and(Spec::needs_views)
}

/// Number of class scores that an objective reads from the network's head, for `classes` and a bias of `biases`
/// values; `None` if it compares projections.
pub fn class_scores(objective: &str, classes: usize, biases: usize) -> Option<usize> {
    loss::spec(objective).ok().and_then(|spec| spec.head.scores(classes, biases))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;

    use super::super::Algorithm;
    use super::super::testing::{networks, rng, train};
    use super::*;
    use crate::loss::batch::Batch;

    const LABELS: [usize; 6] = [0, 1, 2, 0, 1, 2];

    #[test]
    fn statistics_of_the_batch_are_for_objectives_that_compare_samples() {
        let config = |statistics: &str| -> AlgorithmConfig {
            serde_json::from_str(&format!(r#"{{"name": "cached", "chunk": 2{statistics}}}"#)).unwrap()
        };
        let [default, chunk, batch] =
            ["", r#", "statistics": "chunk""#, r#", "statistics": "batch""#].map(config);
        assert!(default == chunk && chunk != batch);
        // Older states and recipes lack the setting.
        assert_eq!(serde_json::to_string(&default).unwrap(), r#"{"name":"cached","chunk":2}"#);
        let check = |config: &AlgorithmConfig, name: &str| config.check(&ObjectiveConfig::named(name), 10);
        assert!(check(&batch, "nt-xent").is_ok() && check(&chunk, "cross-entropy").is_ok());
        let error = check(&batch, "cross-entropy").unwrap_err().to_string();
        assert!(error.contains("method.statistics"), "{error}");
    }

    fn init(algorithm: &str, objective: &str) -> Result<Box<dyn Algorithm>> {
        let config: AlgorithmConfig = serde_json::from_str(algorithm).unwrap();
        let training = TrainingSet { labels: LABELS.to_vec(), biases: 2 };
        let objective = ObjectiveConfig::named(objective);
        config.init(&networks(3), &objective, (&training, 10), &Device::flex(), &mut rng(1))
    }

    #[test]
    fn whatever_trains_an_objective_is_a_method() {
        for (objective, method) in
            loss::specs().flat_map(|spec| spec.methods.iter().map(|name| (spec.name, name)))
        {
            let config = serde_json::from_value::<AlgorithmConfig>(serde_json::json!({ "name": method }));
            let is_known =
                config.map_or_else(|error| !error.to_string().contains("unknown variant"), |_| true);
            assert!(is_known, "{objective}: {method}");
        }
    }

    #[test]
    fn one_loop_trains_every_method() {
        let context = Batch::default()
            .with_indices("labels", LABELS.to_vec())
            .with_indices("samples", vec![0, 1, 2, 3, 4, 5])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1]);
        let algorithms = [
            (r#"{"name": "single"}"#, "nt-xent"),
            (r#"{"name": "cached", "chunk": 4}"#, "nt-xent"),
            (r#"{"name": "moco", "queue": 512, "momentum": 0.9}"#, "moco"),
            (r#"{"name": "byol", "momentum": 0.9}"#, "byol"),
            (r#"{"name": "swav", "prototypes": 3}"#, "swav"),
            (r#"{"name": "difficulty"}"#, "wcl-weighted-dcl"),
            (r#"{"name": "difficulty", "evaluated": "bias-amplifying"}"#, "wcl-weighted-dcl"),
            (r#"{"name": "lff", "ema_alpha": 0.7}"#, "lff"),
            (r#"{"name": "rebias"}"#, "rebias-hsic"),
            (r#"{"name": "rebias", "encoder": {"name": "simple-conv-1x1", "input_size": 8}}"#, "rebias-hsic"),
            (
                r#"{"name": "bias-network", "encoder": {"name": "simple-conv-1x1"}, "first_steps": 1}"#,
                "learned-mixin",
            ),
            (r#"{"name": "bias-network", "encoder": {"name": "simple-conv-1x1"}, "first_steps": 1}"#, "rubi"),
            (
                r#"{"name": "bias-network", "encoder": {"name": "simple-conv-1x1", "input_size": 8}, "first_steps": 1}"#,
                "softcon",
            ),
            (
                r#"{"name": "bias-network", "encoder": {"name": "simple-conv-1x1"}, "first_steps": 1, "ce_weight": 0.01}"#,
                "softcon",
            ),
            (r#"{"name": "with-classifier"}"#, "biascon-total"),
            (r#"{"name": "with-classifier", "ce_weight": 0.5}"#, "contex"),
            (r#"{"name": "lnl"}"#, "lnl"),
            (r#"{"name": "jtt", "first_steps": 5}"#, "jtt"),
        ];
        for (algorithm, objective) in algorithms {
            let mut built = init(algorithm, objective).unwrap();
            let losses = train(built.as_mut(), &context, 3);
            assert!(losses.iter().all(|loss| loss.is_finite()), "{algorithm}: {losses:?}");
            assert!(losses[1] != losses[0] && losses[2] != losses[1], "{algorithm}: {losses:?}");
            assert!(algorithm.contains(&format!("\"{}\"", built.name())));
        }
    }

    #[test]
    fn an_objective_of_another_method_is_named() {
        let error = init(r#"{"name": "moco", "queue": 12}"#, "byol").unwrap_err().to_string();
        assert!(error.contains("`byol`") && error.contains("moco"), "{error}");
        // Of one network's projections these would be another loss.
        for objective in ["end", "rebias-hsic"] {
            let error = init(r#"{"name": "cached", "chunk": 4}"#, objective).unwrap_err().to_string();
            assert!(
                error.contains("method.name") && error.contains(&format!("`{objective}` is trained by")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_objective_that_needs_a_method_is_refused_without_it() {
        for spec in loss::specs().filter(|spec| !spec.methods.contains(&"single")) {
            let error = AlgorithmConfig::default().check(&ObjectiveConfig::named(spec.name), 10);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(spec.name), "{error}");
            for method in spec.methods.iter().chain(spec.part_of) {
                assert!(error.contains(&format!("`{method}`")), "{}: {error}", spec.name);
            }
        }
        let error = |name: &str| {
            AlgorithmConfig::default().check(&ObjectiveConfig::named(name), 10).unwrap_err().to_string()
        };
        assert!(error("moco").contains("`moco` is trained by `moco`"), "{}", error("moco"));
        assert!(error("max-margin").contains("no method trains it"), "{}", error("max-margin"));
        assert!(error("wcl-triplet").contains("part of `difficulty`"), "{}", error("wcl-triplet"));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        for (algorithm, objective, parameter) in [
            (r#"{"name": "cached", "chunk": 0}"#, "nt-xent", "method.chunk"),
            (r#"{"name": "moco", "queue": 0}"#, "moco", "method.queue"),
            (r#"{"name": "byol", "momentum": 2}"#, "byol", "method.momentum"),
            (r#"{"name": "swav", "prototypes": 0}"#, "swav", "method.prototypes"),
            (r#"{"name": "swav", "queue_from": 3}"#, "swav", "method.queue_from"),
            (
                r#"{"name": "difficulty", "biased_learning_rate": 0}"#,
                "wcl-weighted-dcl",
                "method.biased_learning_rate",
            ),
            (r#"{"name": "lff", "ema_alpha": -1}"#, "lff", "method.ema_alpha"),
            (r#"{"name": "rebias", "lambda": -1}"#, "rebias-hsic", "method.lambda"),
            (r#"{"name": "lnl", "reversal": -1}"#, "lnl", "method.reversal"),
            (r#"{"name": "lnl", "predictor": {"kind": "mlp"}}"#, "lnl", "method.predictor.output"),
            (r#"{"name": "jtt", "first_steps": 10}"#, "jtt", "method.first_steps"),
            (r#"{"name": "with-classifier", "ce_weight": -1}"#, "contex", "method.ce_weight"),
            (r#"{"name": "with-classifier", "ce_weight": 0.1}"#, "biascon-total", "method.ce_weight"),
            (
                r#"{"name": "bias-network", "encoder": {}, "first_steps": 1, "ce_weight": 0.1}"#,
                "rubi",
                "method.ce_weight",
            ),
        ] {
            let error = init(algorithm, objective).unwrap_err().to_string();
            assert!(error.contains(parameter), "{error}");
        }
        for unknown in [r#"{"name": "single", "queue": 3}"#, r#"{"name": "mocco"}"#] {
            assert!(serde_json::from_str::<AlgorithmConfig>(unknown).is_err(), "{unknown}");
        }
    }
}
