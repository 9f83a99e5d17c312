//! Momentum contrast.

use burn::tensor::{Device, Tensor};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::key_queue::KeyQueue;
use super::passes;
use super::settings::{
    AlgorithmContext, AlgorithmSettings, Meaning, StoredRows, at_least_one, check_momentum,
};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, MovingAverage, StateReader, StateWriter, Views};
use crate::error::Result;
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::loss::{MoCo, Objective, ObjectiveConfig};
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::numeric::matrix::Matrix;
use crate::optim::Optimizer;

/// A network, its momentum encoder, and a queue.
///
/// Momentum contrast (MoCo): keys come from a slowly following network and are kept in a queue of negatives.
///
/// He et al., *Momentum Contrast for Unsupervised Visual Representation Learning* (2020), algorithm 1, with the loss of
/// [`MoCo`]. Released code averages the key encoder before it computes the keys of a step; here the average is
/// taken after the previous step, which gives the same keys, because both networks start equal.
/// The queue is read before the keys of the batch enter. Shuffling batch norm, which training on several devices
/// needs, is not implemented.
#[derive(Debug)]
pub struct MomentumContrast {
    model: Model,
    target: Model,
    average: MovingAverage,
    queue: KeyQueue,
    keys: Option<Tensor<2>>,
    objective: MoCo,
}

impl MomentumContrast {
    /// A randomly initialised network with a queue of `queue` random keys; published: 65,536 keys and a momentum of
    /// 0.999.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: MoCo,
        average: MovingAverage,
        queue: usize,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        let model = network.init(device, rng)?;
        let target = MovingAverage::target(&model);
        let start = Matrix::from_fn(queue, network.head.output, |_, _| rng.random_range(-1.0..1.0));
        let dtype = burn::tensor::DType::F32;
        let queue = KeyQueue::new(start.to_tensor(device, dtype))?;
        Ok(Self { model, target, average, queue, keys: None, objective })
    }

    /// The keys of the latest samples.
    pub fn queue(&self) -> &KeyQueue {
        &self.queue
    }
}

impl Algorithm for MomentumContrast {
    fn name(&self) -> &'static str {
        "moco"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let queries = passes::output(&self.model, views.a.clone());
        let keys = self.target.head.forward(self.target.encoder.forward(views.b.clone())).without_autodiff();
        self.keys = Some(keys.clone());
        let batch = context
            .with_tensor("view_a", queries)
            .with_tensor("view_b", keys)
            .with_tensor("queue", self.queue.rows());
        loss::loss(&self.objective, &batch)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        let updates = optimizer.steps();
        passes::descend(&mut self.model, loss, optimizer, learning_rate)?;
        let is_updated = optimizer.steps() > updates;
        self.target = self.average.update_after_step(self.target.clone(), &self.model, is_updated);
        self.keys.take().map_or(Ok(()), |keys| self.queue.push(keys))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.model);
        state.module("target", &self.target);
        state.tensor("queue", self.queue.rows());
        state.value("oldest", &self.queue.oldest())?;
        state.value("averaged", &self.average.steps_done)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(TRAINED, self.model.clone())?;
        self.target = state.module("target", self.target.clone())?;
        let rows = state.tensor("queue", &self.queue.rows())?;
        self.queue = self.queue.replaced(rows, state.value("oldest")?);
        self.average.steps_done = state.value("averaged")?;
        Ok(())
    }
}

/// The settings of [`MomentumContrast`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MocoSettings {
    /// Number of keys in the queue. Default: 65,536, as published.
    pub queue: usize,
    /// Momentum of the key encoder. Default: 0.999, as published.
    pub momentum: f64,
}

impl Default for MocoSettings {
    fn default() -> Self {
        Self { queue: 65_536, momentum: 0.999 }
    }
}

impl AlgorithmSettings for MocoSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            ("queue", "Earlier embeddings that are its negatives, 1 or more; 65536 by default."),
            (
                "momentum",
                "Momentum of the network that follows the trained one, 0 to below 1; 0.999 by default.",
            ),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[[r#"{"queue": 512, "momentum": 0.9}"#, "moco", "lenet5"]]
    }

    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        at_least_one("method.queue", self.queue)?;
        check_momentum(self.momentum)
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let (objective, average) = (context.objective.parse()?, MovingAverage::constant(self.momentum)?);
        let AlgorithmContext { network, device, .. } = *context;
        Ok(Box::new(MomentumContrast::new(network, objective, average, self.queue, device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = Workload { pairs: step.pairs(step.samples, self.queue as u64), ..step.base() };
        workload.fixed = workload.trained;
        workload.add_training_pass(step.samples, &step.network);
        workload.add_forward_work(step.samples, &step.network);
        workload
    }

    fn stored_rows(&self, _objective: &ObjectiveConfig) -> Result<Vec<StoredRows>> {
        Ok(vec![StoredRows { key: "method.queue", count: self.queue, times: 1 }])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, views};
    use super::*;
    use crate::numeric::unit_rows::UnitRows;
    use crate::optim::OptimizerConfig;

    fn algorithm(queue: usize, momentum: f64) -> MomentumContrast {
        let average = MovingAverage::constant(momentum).unwrap();
        MomentumContrast::new(
            &network(4),
            MoCo { temperature: 0.5 },
            average,
            queue,
            &Device::flex(),
            &mut rng(1),
        )
        .unwrap()
    }

    #[test]
    fn it_learns() {
        let mut algorithm = algorithm(16, 1.0);
        let queue = algorithm.queue.clone();
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap();
        let views = views(6, 7);
        let step = |_| {
            // Otherwise the keys of a step would be negatives of the same few samples in the next step.
            algorithm.queue = queue.clone();
            let loss = algorithm.loss(&views, Batch::default()).unwrap();
            algorithm.descend(loss.clone(), &mut optimizer, 1e-5).unwrap();
            loss.inner().into_scalar::<f32>()
        };
        let losses: Vec<f32> = (0..4).map(step).collect();
        assert!(falls(&losses), "{losses:?}");
    }

    #[test]
    fn the_target_waits_for_an_update() {
        let weight = |model: &Model| -> f32 {
            let values = crate::nn::checkpoint::flattened("", model).remove(0).values;
            values.slice([0..1]).into_scalar()
        };
        let mut algorithm = algorithm(16, 0.75);
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap().accumulating(2);
        let before = weight(&algorithm.target);
        for _ in 0..2 {
            let first = weight(&algorithm.target);
            for updated in [false, true] {
                let loss = algorithm.loss(&views(6, 7), Batch::default()).unwrap();
                algorithm.descend(loss, &mut optimizer, 1e-2).unwrap();
                let online = weight(&algorithm.model);
                let expected = if updated { 0.75 * first + 0.25 * online } else { first };
                assert!((weight(&algorithm.target) - expected).abs() < 1e-7, "{updated}");
            }
        }
        assert!((weight(&algorithm.target) - before).abs() > 1e-4);
    }

    #[test]
    fn keys_of_the_target_enter_the_queue_after_the_step() {
        let mut algorithm = algorithm(16, 1.0);
        let before = algorithm.queue().rows();
        let views = views(6, 3);
        let loss = algorithm.loss(&views, Batch::default()).unwrap();
        let largest = |x: Tensor<2>| x.abs().max().into_scalar::<f32>();
        assert_eq!(largest(algorithm.queue().rows() - before.clone()), 0.0);
        // With a momentum of 1 the target keeps the initial weights of the network.
        let keys = UnitRows::normalise(algorithm.keys.clone().unwrap()).rows();
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap();
        algorithm.descend(loss, &mut optimizer, 1e-3).unwrap();
        let after = algorithm.queue().rows();
        assert!(largest(after.clone().slice([0..6]) - keys) < 1e-6);
        assert_eq!(largest(after.slice([6..16]) - before.slice([6..16])), 0.0);
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert!(refusal(r#"{"name": "moco", "queue": 0}"#, "moco").contains("method.queue"));
        assert!(refusal(r#"{"name": "moco", "momentum": 2}"#, "moco").contains("method.momentum"));
        assert!(
            refusal(r#"{"name": "moco", "momentum": 1.0}"#, "moco").contains("the average never changes")
        );
    }
}
