//! An algorithm from its settings, in its initial state.

use burn::tensor::Device;
use rand::Rng;

use super::biased::biased_network;
use super::config::published;
use super::{
    AdversarialGenerator, Algorithm, AlgorithmConfig, BiasFirst, Byol, DifficultyWeighted, GradCache, Jtt,
    Lff, Lnl, MomentumContrast, MovingAverage, Networks, Rebias, Single, Swav, TrainingSet,
    VariationalAutoencoder, WithClassifier, class_scores,
};
use crate::error::{Error, Result};
use crate::loss::{self, ObjectiveConfig};
use crate::nn::head::{HeadConfig, HeadKind};

impl AlgorithmConfig {
    /// The algorithm in its initial state, for a run of `steps`.
    ///
    /// # Errors
    /// As [`check`](Self::check), or the training set lacks a property that the algorithm needs.
    pub fn init(
        &self,
        networks: &Networks,
        objective: &ObjectiveConfig,
        (training, steps): (&TrainingSet, u64),
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Box<dyn Algorithm>> {
        self.check(objective, steps)?;
        Ok(match self {
            Self::Single {} => Box::new(Single::new(networks, objective.build()?, device, rng)?),
            Self::Cached { chunk, statistics } => {
                let algorithm = GradCache::new(networks, objective.build()?, *chunk, device, rng)?;
                Box::new(algorithm.with_statistics(*statistics)?)
            }
            Self::WithClassifier { ce_weight } => {
                let weight = ce_weight.unwrap_or_else(published::ce_weight);
                Box::new(WithClassifier::new(networks, objective.build()?, weight, device, rng)?)
            }
            Self::Moco { queue, momentum } => {
                let average = MovingAverage::constant(*momentum)?;
                Box::new(MomentumContrast::new(networks, objective.parse()?, average, *queue, device, rng)?)
            }
            Self::Byol { momentum, rising, predictor } => {
                let average = match rising {
                    true => MovingAverage::rising(*momentum, steps)?,
                    false => MovingAverage::constant(*momentum)?,
                };
                let predictor = predictor.clone().unwrap_or_else(|| like(&networks.head));
                Box::new(Byol::new(networks, &predictor, average, device, rng)?)
            }
            Self::Swav { prototypes, frozen_steps, queue, queue_from } => {
                let (objective, frozen) = (objective.parse()?, *frozen_steps);
                let algorithm = Swav::new(networks, objective, *prototypes, frozen, device, rng)?;
                Box::new(algorithm.with_queue(*queue, *queue_from)?)
            }
            Self::Difficulty { triplet, evaluated, biased_learning_rate } => {
                let (weighted, triplet) = (objective.build()?, triplet.clone());
                let algorithm =
                    DifficultyWeighted::new(networks, triplet, weighted, *evaluated, device, rng)?;
                Box::new(algorithm.with_biased_learning_rate(*biased_learning_rate)?)
            }
            Self::Lff { ema_alpha } => {
                let objective: loss::Lff = objective.parse()?;
                let averages = ema_alpha.map(|alpha| (training.labels.clone(), alpha));
                Box::new(Lff::new(networks, objective, averages, device, rng)?)
            }
            Self::Rebias { lambda, encoder } => {
                let independence = objective.parse()?;
                let biased = biased_network(networks, encoder.as_ref(), networks.head.clone());
                let both = [networks, &biased];
                let algorithm = Rebias::new(both, independence, *lambda, device, rng);
                Box::new(algorithm?)
            }
            Self::BiasNetwork { encoder, first_steps, ce_weight } => {
                let seen = training.labels.iter().max().map_or(0, |last| last + 1);
                // Scores of both networks are compared class by class, also where the last class has no sample.
                let main = class_scores(&objective.name, seen, training.biases);
                let classes = main.map_or(seen, |_| networks.head.output);
                let scores = HeadConfig { kind: HeadKind::Linear, output: classes, ..HeadConfig::default() };
                let biased = biased_network(networks, Some(encoder), scores);
                let (both, steps) = ([networks, &biased], (*first_steps, *ce_weight));
                Box::new(BiasFirst::new(both, objective.build()?, steps, device, rng)?)
            }
            Self::Lnl { predictor, reversal } => {
                let predictor = bias_predictor(predictor.as_ref(), training.biases)?;
                let objective = objective.parse()?;
                Box::new(Lnl::new(networks, &predictor, objective, *reversal, device, rng)?)
            }
            Self::Jtt { first_steps } => {
                let (objective, labels) = (objective.parse()?, training.labels.clone());
                Box::new(Jtt::new(networks, objective, *first_steps, labels, device, rng)?)
            }
            Self::Vae {} => Box::new(VariationalAutoencoder::new(networks, objective.parse()?, device, rng)?),
            Self::Dcgan {} => Box::new(AdversarialGenerator::new(networks, device, rng)?),
        })
    }
}

/// The layers of a head, for projections: an activation before the first layer applies to embeddings only.
fn like(head: &HeadConfig) -> HeadConfig {
    let kind = if head.kind == HeadKind::MlpActivated { HeadKind::Mlp } else { head.kind };
    HeadConfig { kind, ..head.clone() }
}

/// The network that predicts a bias of `biases` values: the given one, which must have a score for each value, or a linear
/// one.
fn bias_predictor(given: Option<&HeadConfig>, biases: usize) -> Result<HeadConfig> {
    match given {
        Some(given) if biases > 0 && given.output != biases => {
            let reason = format!("expected {biases}, one score for each value of the bias");
            Err(Error::parameter("method.predictor.output", given.output, &reason))
        }
        Some(given) => Ok(given.clone()),
        None if biases == 0 => Err(Error::Degenerate {
            reason: "learning not to learn needs a bias to predict".into(),
            remedy: "set `objective.bias` to a categorical attribute of the data set".into(),
        }),
        None => Ok(HeadConfig { kind: HeadKind::Linear, output: biases, ..HeadConfig::default() }),
    }
}
