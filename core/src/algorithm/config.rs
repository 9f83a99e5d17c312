//! The algorithms of recipes, where they are called methods: the table of them, with the functions on each.

use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::settings::{AlgorithmContext, AlgorithmSettings, InnerLoss, Meaning, Onset, StoredRows};
use super::workload::{StepContext, StepSize, Workload};
use super::{
    Algorithm, BiasNetworkSettings, ByolSettings, DcganSettings, DifficultySettings, GradCacheSettings,
    JttSettings, LffSettings, LnlSettings, MocoSettings, ModelConfig, RebiasSettings, SingleSettings,
    SwavSettings, TrainingSet, VaeSettings, WithClassifierSettings,
};
use crate::error::{Error, Result};
use crate::loss::spec::Spec;
use crate::loss::{self, ObjectiveConfig};

/// Makes [`AlgorithmConfig`] of a line for each algorithm: its settings, and its name in recipes.
macro_rules! algorithms {
    ($($(#[$about:meta])* $algorithm:ident($settings:ty) = $name:literal,)+) => {
        /// The training method with its settings. The loss has separate settings, an [`ObjectiveConfig`].
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum AlgorithmConfig {
            $($(#[$about])* #[serde(rename = $name)] $algorithm($settings),)+
        }

        impl AlgorithmConfig {
            /// The name in recipes. Descriptions of objectives list the methods that train them by this name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$algorithm(_) => $name),+ }
            }

            fn settings(&self) -> &dyn AlgorithmSettings {
                match self { $(Self::$algorithm(settings) => settings),+ }
            }

            fn settings_mut(&mut self) -> &mut dyn AlgorithmSettings {
                match self { $(Self::$algorithm(settings) => settings),+ }
            }

            /// The names of all methods, with the meanings of their settings.
            pub fn all() -> impl Iterator<Item = (&'static str, &'static [Meaning])> {
                [$(($name, <$settings>::meanings())),+].into_iter()
            }

            /// The names of all methods, with their examples.
            #[cfg(test)]
            pub(crate) fn examples() -> impl Iterator<Item = (&'static str, &'static [[&'static str; 3]])> {
                [$(($name, <$settings>::examples())),+].into_iter()
            }
        }
    };
}

algorithms! {
    /// Any objective on two views.
    Single(SingleSettings) = "single",
    /// Any objective on two views, for a batch larger than memory, or than one device.
    GradCache(GradCacheSettings) = "cached",
    /// Any contrastive objective on embeddings, with a jointly trained classifier.
    WithClassifier(WithClassifierSettings) = "with-classifier",
    /// Momentum contrast: a momentum encoder, and a queue of keys.
    Moco(MocoSettings) = "moco",
    /// Bootstrap your own latent: a momentum encoder, and a predictor.
    Byol(ByolSettings) = "byol",
    /// SwAV: prototypes on the unit sphere.
    Swav(SwavSettings) = "swav",
    /// Difficulty-based weighting: a bias-amplifying network.
    Difficulty(DifficultySettings) = "difficulty",
    /// Learning from failure: a biased classifier, and moving averages of losses.
    Lff(LffSettings) = "lff",
    /// ReBias: a biased classifier.
    Rebias(RebiasSettings) = "rebias",
    /// A network that learns the bias first and then, frozen, helps the objective: LearnedMixin, RUBi or SoftCon.
    BiasNetwork(BiasNetworkSettings) = "bias-network",
    /// Learning not to learn: a bias predictor.
    Lnl(LnlSettings) = "lnl",
    /// Just train twice: a stage, and an error set.
    Jtt(JttSettings) = "jtt",
    /// A variational autoencoder: a decoder.
    Vae(VaeSettings) = "vae",
    /// A generative adversarial network: a generator.
    Dcgan(DcganSettings) = "dcgan",
}

impl Default for AlgorithmConfig {
    fn default() -> Self {
        Self::Single(SingleSettings {})
    }
}

impl AlgorithmConfig {
    /// Checks that the method can train an objective over a run of `steps`, as far as possible without data.
    ///
    /// # Errors
    /// A setting is out of range, or the objective belongs to another method.
    pub fn check(&self, objective: &ObjectiveConfig, steps: u64) -> Result<()> {
        let built = objective.build()?;
        self.check_trains(built.spec())?;
        self.settings().check(built.spec(), steps)
    }

    /// Checks that the method trains an objective; otherwise names those that do.
    fn check_trains(&self, spec: &Spec) -> Result<()> {
        match spec.algorithms {
            methods if methods.contains(&self.name()) => Ok(()),
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
                Err(Error::parameter("method.name", self.name(), &of))
            }
        }
    }

    /// The algorithm in its initial state, for a run of `steps`.
    ///
    /// # Errors
    /// As [`check`](Self::check), or the training set lacks a property that the algorithm needs.
    pub fn init(
        &self,
        network: &ModelConfig,
        objective: &ObjectiveConfig,
        (training, steps): (&TrainingSet, u64),
        device: &Device,
        rng: &mut ChaCha8Rng,
    ) -> Result<Box<dyn Algorithm>> {
        self.check(objective, steps)?;
        self.settings().build(&AlgorithmContext { network, objective, training, steps, device }, rng)
    }

    /// The workload of a step with an objective.
    pub(crate) fn workload(&self, network: &ModelConfig, objective: &str, size: StepSize) -> Workload {
        self.settings().workload(&StepContext::new(network, objective, size))
    }

    /// The rows of projections that the method keeps beside its networks, for an objective that it trains.
    ///
    /// # Errors
    /// The settings of the objective cannot be read.
    pub fn stored_rows(&self, objective: &ObjectiveConfig) -> Result<Vec<StoredRows>> {
        self.settings().stored_rows(objective)
    }

    /// The parts of the method that begin to act after a number of steps.
    pub fn onsets(&self) -> Vec<Onset> {
        self.settings().onsets()
    }

    /// The loss among the settings of the method, if there is one.
    pub fn inner_loss(&self) -> Option<InnerLoss> {
        self.settings().inner_loss()
    }

    /// The evaluated network in words, if it is the second of two that the method draws; else it is the first, as in most methods.
    pub fn second_network_evaluated(&self) -> Option<&'static str> {
        self.settings().second_network_evaluated()
    }

    /// The samples that the method computes at once, if devices and processes can share them.
    pub fn chunk(&self) -> Option<usize> {
        self.settings().chunk()
    }

    /// The steps of the first of two stages, if the method has two.
    pub fn first_steps(&self) -> Option<u64> {
        self.settings().first_steps()
    }

    /// A mutable reference to the steps of the first stage, if the method has two.
    pub fn first_steps_mut(&mut self) -> Option<&mut u64> {
        self.settings_mut().first_steps_mut()
    }

    /// The fewest samples of a batch on which the method trains as it is defined.
    pub fn least_batch(&self) -> usize {
        self.settings().least_batch()
    }

    /// Number of scores that the network's head must give, for `classes` and a bias of `bias_count` values; `None` if
    /// the objective compares projections.
    pub fn scores(&self, objective: &str, classes: usize, bias_count: usize) -> Option<usize> {
        self.settings().scores(objective, classes, bias_count)
    }

    /// True if the objective compares two views of the same image; false if it is unknown.
    pub fn sees_two_views(&self, objective: &str) -> bool {
        loss::spec(objective).is_ok_and(|spec| self.settings().sees_two_views(spec))
    }

    /// True if a classifier is trained jointly with the objective, on a separate batch of images if there is one.
    pub fn takes_images_to_classify(&self) -> bool {
        self.settings().takes_images_to_classify()
    }

    /// True if the method has a network that needs the samples without augmentation; false if the objective is unknown.
    pub fn takes_plain(&self, objective: &str) -> bool {
        loss::spec(objective).is_ok_and(|spec| self.settings().takes_plain(spec))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::super::testing::{LABELS, init, network, refusal, rng, train};
    use super::*;
    use crate::loss;
    use crate::loss::batch::Batch;
    use crate::nn::checkpoint::flattened;
    use crate::nn::{EncoderConfig, Model};

    /// A method of a name, with settings as JSON.
    fn named(name: &str, settings: &str) -> AlgorithmConfig {
        let mut settings: Map<String, Value> = serde_json::from_str(settings).unwrap();
        settings.insert("name".into(), name.into());
        serde_json::from_value(settings.into()).unwrap()
    }

    /// The network of an example, for three classes and two values of the bias.
    fn network_of(config: &AlgorithmConfig, objective: &str, encoder: &str) -> ModelConfig {
        let head = config.scores(objective, 3, 2).unwrap_or(3);
        let architecture = serde_json::from_value(json!(encoder)).unwrap();
        let encoder = EncoderConfig { name: architecture, ..EncoderConfig::default() };
        ModelConfig { encoder, ..network(head) }
    }

    #[test]
    fn whatever_trains_an_objective_is_a_method_and_every_method_trains_one() {
        let trained: Vec<&str> = loss::specs().flat_map(|spec| spec.algorithms).copied().collect();
        for name in &trained {
            assert!(AlgorithmConfig::all().any(|(known, _)| known == *name), "{name}");
        }
        for (name, _) in AlgorithmConfig::all() {
            assert!(trained.contains(&name), "no objective names `{name}` in its methods");
        }
    }

    #[test]
    fn one_loop_trains_every_method() {
        let context = Batch::default()
            .with_indices("labels", LABELS.to_vec())
            .with_indices("samples", vec![0, 1, 2, 3, 4, 5])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1]);
        for (name, examples) in AlgorithmConfig::examples() {
            assert!(!examples.is_empty(), "{name}");
            for &[settings, objective, encoder] in examples {
                let config = named(name, settings);
                let network = network_of(&config, objective, encoder);
                let mut built = init(&config, objective, &network).unwrap();
                assert_eq!((built.name(), config.name()), (name, name));
                let losses = train(built.as_mut(), &context, 3);
                assert!(losses.iter().all(|loss| loss.is_finite()), "{config:?}: {losses:?}");
                assert!(losses[1] != losses[0] && losses[2] != losses[1], "{config:?}: {losses:?}");
            }
        }
    }

    /// A run is compared with its network before the first step, which is drawn again.
    #[test]
    fn a_method_evaluates_the_first_network_that_it_draws_unless_it_names_the_second() {
        let weights = |model: &Model| -> Vec<f64> {
            let tensors = flattened("", &model.encoder).into_iter();
            tensors.flat_map(|tensor| tensor.values.into_data().iter::<f64>().collect::<Vec<_>>()).collect()
        };
        for (name, examples) in AlgorithmConfig::examples() {
            for &[settings, objective, encoder] in examples {
                let config = named(name, settings);
                let network = network_of(&config, objective, encoder);
                let mut rng = rng(1);
                let mut drawn = || weights(&network.init(&Device::flex(), &mut rng).unwrap());
                let (first, second) = (drawn(), drawn());
                let built = init(&config, objective, &network).unwrap();
                let expected = if config.second_network_evaluated().is_some() { second } else { first };
                assert!(weights(built.model()) == expected, "{config:?}");
            }
        }
    }

    #[test]
    fn each_setting_of_a_method_has_a_meaning_and_each_meaning_a_setting() {
        for (name, examples) in AlgorithmConfig::examples() {
            let (_, meanings) = AlgorithmConfig::all().find(|(known, _)| *known == name).unwrap();
            let keys = |config: &AlgorithmConfig| {
                let Value::Object(settings) = serde_json::to_value(config).unwrap() else { return vec![] };
                settings.into_iter().map(|(key, _)| key).filter(|key| key != "name").collect::<Vec<_>>()
            };
            let set = examples.iter().flat_map(|&[settings, ..]| keys(&named(name, settings)));
            for key in set {
                assert!(meanings.iter().any(|(known, _)| *known == key), "{name}: {key}");
            }
            for (key, meaning) in meanings {
                let key = key.split('.').next().unwrap();
                let with = json!({ "name": name, key: { "no-such-name": true } });
                let error = serde_json::from_value::<AlgorithmConfig>(with).unwrap_err().to_string();
                assert!(!error.contains(&format!("unknown field `{key}`")), "{name}: {error}");
                assert!(meaning.ends_with('.') && meaning.chars().count() <= 150, "{name}: {meaning}");
            }
        }
    }

    #[test]
    fn an_objective_of_another_method_is_named() {
        let error = refusal(r#"{"name": "moco", "queue": 12}"#, "byol");
        assert!(error.contains("`byol`") && error.contains("moco"), "{error}");
        // Of one network's projections these would be another loss.
        for objective in ["end", "rebias-hsic"] {
            let error = refusal(r#"{"name": "cached", "chunk": 4}"#, objective);
            assert!(
                error.contains("method.name") && error.contains(&format!("`{objective}` is trained by")),
                "{error}"
            );
        }
    }

    #[test]
    fn an_objective_that_needs_a_method_is_refused_without_it() {
        for spec in loss::specs().filter(|spec| !spec.algorithms.contains(&"single")) {
            let error = AlgorithmConfig::default().check(&ObjectiveConfig::named(spec.name), 10);
            let error = error.unwrap_err().to_string();
            assert!(error.contains(spec.name), "{error}");
            for method in spec.algorithms.iter().chain(spec.part_of) {
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
    fn unknown_methods_and_settings_are_refused() {
        let error = |text: &str| serde_json::from_str::<AlgorithmConfig>(text).unwrap_err().to_string();
        assert!(error(r#"{"name": "single", "queue": 3}"#).contains("unknown field `queue`"));
        let unknown = error(r#"{"name": "mocco"}"#);
        assert!(unknown.contains("`mocco`") && unknown.contains("`moco`"), "{unknown}");
        assert!(error(r#"{"name": "jtt"}"#).contains("missing field `first_steps`"));
    }
}
