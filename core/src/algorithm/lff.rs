//! Learning from failure.

use burn::tensor::{DType, Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::debiased_pair::DebiasedPair;
use super::loss_averages::{LossAverages, UNSEEN};
use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, Meaning};
use super::state::{TRAINED, unusable};
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Result, within};
use crate::loss;
use crate::loss::Objective;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::numeric::matrix::Matrix;
use crate::optim::Optimizer;

/// Names of the averages in a state.
const BIASED: &str = "averages.biased";
const DEBIASED: &str = "averages.debiased";

/// The debiased and the biased classifier.
///
/// Learning from failure: a biased and a debiased classifier, trained side by side.
///
/// Nam et al., *Learning from Failure* (2020), with the loss of [`loss::Lff`]. Both classifiers have the same architecture,
/// whose head gives one score for each class. The weights come either from moving averages by training sample, as
/// released ([`LossAverages`]; they lie on the device, in `f32`), or from the batch alone, as printed
/// in the paper. The debiased classifier is evaluated. Inputs: `labels`, and `samples` for the averages.
#[derive(Debug)]
pub struct Lff {
    trained: DebiasedPair,
    objective: loss::Lff,
    averages: Option<LossAverages>,
}

impl Lff {
    /// Two randomly initialised classifiers; `averages` are the class of each training sample and the fraction that an average
    /// keeps at each visit, as released, or `None` for the printed weights.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: loss::Lff,
        averages: Option<(Vec<usize>, f64)>,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        let averages = averages
            .map(|(labels, alpha)| LossAverages::new(labels, alpha, objective.eps, (device, DType::F32)))
            .transpose()?;
        let trained =
            DebiasedPair { debiased: network.init(device, rng)?, biased: network.init(device, rng)? };
        Ok(Self { trained, objective, averages })
    }
}

impl Algorithm for Lff {
    fn name(&self) -> &'static str {
        "lff"
    }

    fn model(&self) -> &Model {
        &self.trained.debiased
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let batch = context
            .with_tensor("logits_b", passes::output(&self.trained.biased, views.a.clone()))
            .with_tensor("logits_d", passes::output(&self.trained.debiased, views.a.clone()));
        let Some(averages) = &mut self.averages else { return loss::loss(&self.objective, &batch) };
        let samples = batch.indices("lff", "samples", views.samples())?.to_vec();
        let losses = |logits: &str| loss::cross_entropies(&batch, "lff", logits);
        let weights = averages.update(&samples, losses("logits_b")?, losses("logits_d")?)?;
        loss::loss(&self.objective, &batch.with_tensor("weights", weights))
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        if let Some(averages) = &self.averages {
            let [biased, debiased] = averages.averages();
            state.tensor(BIASED, biased);
            state.tensor(DEBIASED, debiased);
        }
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        if let Some(averages) = &mut self.averages {
            let like = averages.averages();
            averages
                .set_averages(stored_averages(state, &like)?)
                .map_err(|error| unusable("averages", &error))?;
        }
        Ok(())
    }
}

/// The averages of a state, of the shapes of `like`.
fn stored_averages(
    state: &mut StateReader,
    like: &[Tensor<2>; 2],
) -> Result<[Tensor<2>; 2], CheckpointError> {
    // Older states hold bits of `f64`, none for a sample that was never visited.
    let bits: Option<[Vec<Option<u64>>; 2]> = state.value("averages")?;
    let Some(bits) = bits else {
        return Ok([state.tensor(BIASED, &like[0])?, state.tensor(DEBIASED, &like[1])?]);
    };
    Ok(bits.map(|bits| {
        let mut values: Vec<f64> = bits.into_iter().map(|bits| bits.map_or(UNSEEN, f64::from_bits)).collect();
        values.resize(like[0].dims()[0], UNSEEN);
        Matrix::column(&values).to_tensor(&like[0].device(), DType::F32)
    }))
}

/// The settings of [`Lff`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LffSettings {
    /// Fraction that a moving average keeps at each visit, 0.7 as released. If absent, the weights are those
    /// printed in the paper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ema_alpha: Option<f64>,
}

impl AlgorithmSettings for LffSettings {
    fn meanings() -> &'static [Meaning] {
        &[(
            "ema_alpha",
            "Share that the averages of losses keep at each visit, 0 to 1 (released: 0.7); if absent, weights are those printed, \
             without averages.",
        )]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[[r#"{"ema_alpha": 0.7}"#, "lff", "lenet5"]]
    }

    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        self.ema_alpha.map_or(Ok(()), |alpha| within("method.ema_alpha", alpha, 0.0, 1.0).map(drop))
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let averages = self.ema_alpha.map(|alpha| (context.training.labels.clone(), alpha));
        Ok(Box::new(Lff::new(context.network, context.objective.parse()?, averages, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = step.base();
        workload.trained *= 2;
        (0..2).for_each(|_| workload.add_training_pass(step.samples, &step.network));
        workload
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{LABELS, falls, network, refusal, rng, train};
    use super::*;
    use crate::nn::checkpoint::Archive;

    fn context() -> Batch {
        Batch::default()
            .with_indices("labels", LABELS.to_vec())
            .with_indices("samples", vec![2, 1, 0, 5, 4, 3])
    }

    #[test]
    fn it_learns_with_printed_and_with_released_weights() {
        for averages in [None, Some((LABELS.to_vec(), 0.7))] {
            let (device, objective) = (Device::flex(), loss::Lff::default());
            let mut algorithm = Lff::new(&network(3), objective, averages, &device, &mut rng(5)).unwrap();
            assert!(falls(&train(&mut algorithm, &context(), 4)));
        }
    }

    #[test]
    fn averages_of_an_older_state_are_read_from_their_bits() {
        let mut values = serde_json::Map::new();
        let bits = |value: f64| value.to_bits();
        values.insert("averages".into(), serde_json::json!([[bits(0.5), null], [bits(0.25)]]));
        let mut state = StateReader::new(Archive::default(), values);
        let like = [(); 2].map(|()| Tensor::zeros([2, 1], &Device::flex()));
        let stored = stored_averages(&mut state, &like).unwrap();
        let stored = stored.map(|averages| averages.into_data().iter::<f32>().collect::<Vec<_>>());
        assert_eq!(stored, [[0.5, -1.0], [0.25, -1.0]]);
    }

    #[test]
    fn a_share_out_of_range_is_named() {
        assert!(refusal(r#"{"name": "lff", "ema_alpha": -1}"#, "lff").contains("method.ema_alpha"));
    }
}
