//! A method as it is written in a recipe.

use burn::tensor::Device;
use rand::Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BootstrapLatent, DifficultyWeighted, JustTrainTwice, LearningFromFailure, LearningNotToLearn, Method,
    MomentumContrast, MovingAverage, Networks, Prototypes, RepresentationDebiasing, Single,
};
use crate::encoder::head::HeadConfig;
use crate::error::{Error, Result};
use crate::objective::{self, LffWeights, WclTriplet};

/// Which method, with the settings of its state. The loss has settings of its own: [`MethodConfig::init`] takes them
/// as a recipe or a case file gives those of an objective.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", rename_all_fields = "snake_case", deny_unknown_fields)]
pub enum MethodConfig {
    /// Any objective on two views.
    #[default]
    Single,
    /// Momentum contrast.
    Moco {
        /// Keys that are kept; published: 65,536.
        queue: usize,
        /// Of the key encoder; published: 0.999.
        momentum: f64,
    },
    /// Bootstrap your own latent.
    Byol {
        /// Of the target at the first step; published: 0.996.
        momentum: f64,
        /// Whether it rises to 1 over training, as published.
        #[serde(default)]
        rising: bool,
        /// The network from projections to predictions.
        #[serde(default)]
        predictor: HeadConfig,
    },
    /// Prototypes.
    Swav {
        /// Their number; published: 3000.
        prototypes: usize,
        /// Steps before they move; published: one epoch.
        #[serde(default)]
        frozen_steps: u64,
    },
    /// Difficulty-based weighting; the objective is the weighted loss.
    Difficulty {
        /// The bias-amplifying network's loss.
        #[serde(default)]
        triplet: WclTriplet,
    },
    /// Learning from failure.
    Lff {
        /// Share that a moving average keeps at each visit, 0.7 as released; without it the weights are the printed
        /// ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ema_alpha: Option<f64>,
    },
    /// ReBias; the objective is its independence criterion.
    Rebias {
        /// Factor of the criterion; published: 1.
        lambda: f64,
    },
    /// Learning not to learn.
    Lnl {
        /// The bias predictor, with one output for each value of the bias.
        predictor: HeadConfig,
        /// How much the encoder ascends its loss.
        reversal: f64,
    },
    /// Just train twice.
    Jtt,
}

/// What a method may have to know about a run.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Classes of the training samples, for averages by class.
    pub labels: Vec<usize>,
    /// Steps of the whole run, for schedules.
    pub steps: u64,
}

impl MethodConfig {
    /// The method at its start. `name`, `variant` and `parameters` are those of its loss, as [`objective::build`]
    /// takes them.
    ///
    /// # Errors
    /// A setting is unknown or out of range, or the loss is not one of this method.
    pub fn init(
        &self,
        networks: &Networks,
        (name, variant, parameters): (&str, Option<&str>, Value),
        run: &Run,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Box<dyn Method>> {
        let built = objective::build(name, variant, parameters.clone())?;
        self.expects(name)?;
        Ok(match self {
            Self::Single => Box::new(Single::new(networks, built, device, rng)?),
            Self::Moco { queue, momentum } => {
                let average = MovingAverage::constant(*momentum)?;
                let objective = parse(variant, parameters)?;
                Box::new(MomentumContrast::new(networks, objective, average, *queue, device, rng)?)
            }
            Self::Byol { momentum, rising, predictor } => {
                let average = match rising {
                    true => MovingAverage::rising(*momentum, run.steps)?,
                    false => MovingAverage::constant(*momentum)?,
                };
                Box::new(BootstrapLatent::new(networks, predictor, average, device, rng)?)
            }
            Self::Swav { prototypes, frozen_steps } => {
                let objective = parse(variant, parameters)?;
                Box::new(Prototypes::new(networks, objective, *prototypes, *frozen_steps, device, rng)?)
            }
            Self::Difficulty { triplet } => {
                Box::new(DifficultyWeighted::new(networks, triplet.clone(), built, device, rng)?)
            }
            Self::Lff { ema_alpha } => {
                let objective: objective::Lff = parse(variant, parameters)?;
                let averages = (ema_alpha
                    .map(|alpha| LffWeights::new(run.labels.clone(), alpha, objective.eps)))
                .transpose()?;
                Box::new(LearningFromFailure::new(networks, objective, averages, device, rng)?)
            }
            Self::Rebias { lambda } => {
                let independence = parse(variant, parameters)?;
                Box::new(RepresentationDebiasing::new(
                    networks,
                    networks,
                    independence,
                    *lambda,
                    device,
                    rng,
                )?)
            }
            Self::Lnl { predictor, reversal } => {
                let objective = parse(variant, parameters)?;
                Box::new(LearningNotToLearn::new(networks, predictor, objective, *reversal, device, rng)?)
            }
            Self::Jtt => {
                Box::new(JustTrainTwice::new(networks.clone(), parse(variant, parameters)?, device, rng)?)
            }
        })
    }

    /// Checks that an objective is one that the method can train.
    fn expects(&self, objective: &str) -> Result<()> {
        let known: &[&str] = match self {
            Self::Single => return Ok(()),
            Self::Moco { .. } => &["moco"],
            Self::Byol { .. } => &["byol"],
            Self::Swav { .. } => &["swav"],
            Self::Difficulty { .. } => &["wcl-weighted-infonce", "wcl-weighted-dcl"],
            Self::Lff { .. } => &["lff"],
            Self::Rebias { .. } => &["rebias-hsic"],
            Self::Lnl { .. } => &["lnl"],
            Self::Jtt => &["jtt"],
        };
        if known.contains(&objective) {
            Ok(())
        } else {
            Err(Error::unknown("objective of this method", objective, known.iter().copied()))
        }
    }
}

fn parse<O: DeserializeOwned>(variant: Option<&str>, parameters: Value) -> Result<O> {
    let mut parameters = match parameters {
        Value::Object(parameters) => parameters,
        _ => serde_json::Map::new(),
    };
    if let Some(variant) = variant {
        parameters.insert("variant".into(), variant.into());
    }
    serde_json::from_value(Value::Object(parameters))
        .map_err(|e| Error::parameter("params", "not understood", &e.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, networks, rng, train};
    use super::*;
    use crate::batch::Batch;

    const LABELS: [usize; 6] = [0, 1, 2, 0, 1, 2];

    fn init(method: &str, objective: &str) -> Result<Box<dyn Method>> {
        let config: MethodConfig = serde_json::from_str(method).unwrap();
        let run = Run { labels: LABELS.to_vec(), steps: 10 };
        config.init(&networks(3), (objective, None, Value::Null), &run, &Device::flex(), &mut rng(1))
    }

    #[test]
    fn one_loop_trains_every_method() {
        let context = Batch::default()
            .with_indices("labels", LABELS.to_vec())
            .with_indices("samples", vec![0, 1, 2, 3, 4, 5])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1]);
        let methods = [
            (r#"{"name": "single"}"#, "nt-xent"),
            (r#"{"name": "moco", "queue": 12, "momentum": 0.9}"#, "moco"),
            (
                r#"{"name": "byol", "momentum": 0.9, "rising": true, "predictor": {"kind": "linear", "output": 3}}"#,
                "byol",
            ),
            (r#"{"name": "swav", "prototypes": 3}"#, "swav"),
            (r#"{"name": "difficulty"}"#, "wcl-weighted-dcl"),
            (r#"{"name": "lff", "ema_alpha": 0.7}"#, "lff"),
            (r#"{"name": "rebias", "lambda": 1}"#, "rebias-hsic"),
            (r#"{"name": "lnl", "predictor": {"kind": "linear", "output": 2}, "reversal": 0.1}"#, "lnl"),
            (r#"{"name": "jtt"}"#, "jtt"),
        ];
        for (method, objective) in methods {
            let mut built = init(method, objective).unwrap();
            assert!(falls(&train(built.as_mut(), &context, 4)), "{method}");
            assert!(method.contains(&format!("\"{}\"", built.name())));
        }
    }

    #[test]
    fn an_objective_of_another_method_is_named() {
        let error =
            init(r#"{"name": "moco", "queue": 12, "momentum": 0.9}"#, "byol").unwrap_err().to_string();
        assert!(error.contains("`byol`") && error.contains("moco"), "{error}");
    }
}
