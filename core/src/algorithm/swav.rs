//! SwAV: prototypes that are trained with the network.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::key_queue::KeyQueue;
use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, Meaning, Onset, StoredRows, at_least_one};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::selfsup::swav::queue_name;
use crate::loss::spec::Spec;
use crate::loss::{Objective, ObjectiveConfig};
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::numeric::matrix::Matrix;
use crate::numeric::unit_rows::UnitRows;
use crate::optim::Optimizer;

/// SwAV: a network and its prototypes, which are trained together.
///
/// Caron et al., *Unsupervised Learning of Visual Features by Contrasting Cluster Assignments* (2020), with the loss of
/// [`loss::Swav`]. Prototypes are unit rows; they are drawn at random, normalised after every step, and fixed during the
/// first `frozen_steps` (313 in the released recipe, one epoch). Published: 3000 prototypes.
///
/// Small batches need a queue of earlier embeddings for an even assignment. There is one queue for each assigned
/// view: the embeddings of a batch enter it after the batch is assigned, and a full queue is assigned together with
/// later batches (released: 3840 embeddings from the 15th epoch on, for batches of 256).
#[derive(Debug)]
pub struct Swav {
    trained: TrainedNetworks,
    objective: loss::Swav,
    frozen_steps: u64,
    steps: u64,
    queues: Option<Queues>,
}

/// Earlier embeddings of each assigned view.
#[derive(Debug)]
struct Queues {
    by_crop: Vec<KeyQueue>,
    /// The step from which the queues are filled.
    from: u64,
    /// Number of embeddings that each queue has received.
    received: u64,
    /// The embeddings of the current batch.
    pending: Vec<Tensor<2>>,
}

#[derive(Module, Debug)]
struct TrainedNetworks {
    model: Model,
    prototypes: Param<Tensor<2>>,
}

impl Swav {
    /// A randomly initialised network with `prototypes` random directions.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: loss::Swav,
        prototypes: usize,
        frozen_steps: u64,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        if let Some(view) = objective.crops_for_assign.iter().find(|&&view| view > 1) {
            return Err(Error::parameter("crops_for_assign", view, "but training has two views, 0 and 1"));
        }
        if prototypes == 0 {
            return Err(Error::parameter("prototypes", 0, "expected 1 or more"));
        }
        let model = network.init(device, rng)?;
        let directions = Matrix::from_fn(prototypes, network.head.output, |_, _| StandardNormal.sample(rng));
        let unit = UnitRows::normalise(directions.to_tensor(device, DType::F32)).rows();
        let trained = TrainedNetworks { model, prototypes: Param::from_tensor(unit.autodiff()) };
        let queues = None;
        Ok(Self { trained, objective, frozen_steps, steps: 0, queues })
    }

    /// The same with a queue of `length` embeddings for each assigned view, filled from the step `from` on; no
    /// queue for a length of 0.
    ///
    /// # Errors
    /// As [`KeyQueue::new`].
    pub fn with_queue(self, length: usize, from: u64) -> Result<Self> {
        if length == 0 {
            return Ok(Self { queues: None, ..self });
        }
        let prototypes = self.prototypes();
        let [_, width] = prototypes.dims();
        let empty = || KeyQueue::new(Tensor::zeros([length, width], (&prototypes.device(), DType::F32)));
        let by_crop = self.objective.crops_for_assign.iter().map(|_| empty()).collect::<Result<_>>()?;
        let queues = Queues { by_crop, from, received: 0, pending: Vec::new() };
        Ok(Self { queues: Some(queues), ..self })
    }

    /// The prototypes, unit rows `[K, d]`.
    pub fn prototypes(&self) -> Tensor<2> {
        self.trained.prototypes.val().without_autodiff()
    }
}

impl Algorithm for Swav {
    fn name(&self) -> &'static str {
        "swav"
    }

    fn model(&self) -> &Model {
        &self.trained.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let [a, b] = passes::project(&self.trained.model, views);
        let prototypes = self.trained.prototypes.val();
        let prototypes =
            if self.steps < self.frozen_steps { prototypes.without_autodiff() } else { prototypes };
        let mut context = context.with_tensor("prototypes", prototypes);
        if let Some(queues) = &mut self.queues {
            let of_view = |view: &usize| if *view == 0 { a.clone() } else { b.clone() }.without_autodiff();
            queues.pending = self.objective.crops_for_assign.iter().map(of_view).collect();
            context = queues.add_to(context);
        }
        loss::loss(&self.objective, &context.with_tensor("view_a", a).with_tensor("view_b", b))
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)?;
        let unit =
            |rows: Tensor<2>| UnitRows::normalise(rows.without_autodiff()).rows().autodiff().require_grad();
        self.trained.prototypes = self.trained.prototypes.clone().map(unit);
        self.steps += 1;
        let steps = self.steps;
        self.queues.as_mut().map_or(Ok(()), |queues| queues.take_up(steps))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        for (at, queue) in self.queues.iter().flat_map(|queues| &queues.by_crop).enumerate() {
            state.tensor(&queue_name(at), queue.rows());
            state.value(&oldest_name(at), &queue.oldest())?;
        }
        state.value("queued", &self.queues.as_ref().map_or(0, |queues| queues.received))?;
        state.value("steps", &self.steps)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        if let Some(queues) = &mut self.queues {
            for (at, queue) in queues.by_crop.iter_mut().enumerate() {
                let rows = state.tensor(&queue_name(at), &queue.rows())?;
                *queue = queue.replaced(rows, state.value(&oldest_name(at))?);
            }
            queues.received = state.value("queued")?;
        }
        self.steps = state.value("steps")?;
        Ok(())
    }
}

impl Queues {
    /// The batch with the queues, if they are full.
    fn add_to(&self, batch: Batch) -> Batch {
        let is_full = |queue: &KeyQueue| self.received >= queue.rows().dims()[0] as u64;
        if !self.by_crop.iter().all(is_full) {
            return batch;
        }
        let named = self.by_crop.iter().enumerate();
        named.fold(batch, |batch, (at, queue)| batch.with_tensor(&queue_name(at), queue.rows()))
    }

    /// Appends the embeddings of the batch to the queues, after `steps` completed steps.
    fn take_up(&mut self, steps: u64) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        if steps <= self.from {
            return Ok(());
        }
        self.received += pending.first().map_or(0, |rows| rows.dims()[0] as u64);
        self.by_crop.iter_mut().zip(pending).try_for_each(|(queue, rows)| queue.push(rows))
    }
}

/// The name in the state of the position of a queue's oldest embedding.
fn oldest_name(at: usize) -> String {
    format!("oldest_{at}")
}

/// The settings of [`Swav`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwavSettings {
    /// Number of prototypes. Default: 3000, as published.
    pub prototypes: usize,
    /// Number of initial steps with fixed prototypes; published: one epoch. Default: 0.
    pub frozen_steps: u64,
    /// Number of earlier embeddings of each view in the queue, which are assigned together with a batch;
    /// released for batches of 256: 3840. Default: 0, no queue.
    pub queue: usize,
    /// Number of steps before the queue is filled; released: 15 epochs. Default: 0.
    pub queue_from: u64,
}

impl Default for SwavSettings {
    fn default() -> Self {
        Self { prototypes: 3000, frozen_steps: 0, queue: 0, queue_from: 0 }
    }
}

impl AlgorithmSettings for SwavSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            ("prototypes", "Number of prototypes, 1 or more; 3000 by default."),
            ("frozen_steps", "Iterations at the start in which the prototypes stay fixed; 0 by default."),
            ("queue", "Earlier embeddings of each view that are assigned with a batch; 0 by default."),
            ("queue_from", "Iteration from which the queue is filled; 0 by default."),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[
            [r#"{"prototypes": 3}"#, "swav", "lenet5"],
            [r#"{"prototypes": 5, "frozen_steps": 3, "queue": 30}"#, "swav", "lenet5"],
        ]
    }

    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        if self.queue == 0 && self.queue_from > 0 {
            let reason = "but there is no queue; set method.queue";
            return Err(Error::parameter("method.queue_from", self.queue_from, reason));
        }
        at_least_one("method.prototypes", self.prototypes)
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let Self { prototypes, frozen_steps, queue, queue_from } = *self;
        let AlgorithmContext { network, device, .. } = *context;
        let objective = context.objective.parse()?;
        let algorithm = Swav::new(network, objective, prototypes, frozen_steps, device, rng)?;
        Ok(Box::new(algorithm.with_queue(queue, queue_from)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let pairs = step.pairs(2 * step.samples, self.prototypes as u64);
        let mut workload = Workload { pairs, ..step.base() };
        workload.add_training_pass(2 * step.samples, &step.network);
        let assigned = step.samples.saturating_add(self.queue as u64);
        workload.largest = workload.largest.max(assigned.saturating_mul(self.prototypes as u64));
        workload
    }

    fn stored_rows(&self, objective: &ObjectiveConfig) -> Result<Vec<StoredRows>> {
        let loss::Swav { crops_for_assign, .. } = objective.parse()?;
        Ok(vec![
            StoredRows { key: "method.prototypes", count: self.prototypes, times: 1 },
            StoredRows { key: "method.queue", count: self.queue, times: crops_for_assign.len() },
        ])
    }

    fn onsets(&self) -> Vec<Onset> {
        let frozen = Onset {
            key: "method.frozen_steps",
            steps: self.frozen_steps,
            before: "the prototypes are not trained",
        };
        let queue =
            Onset { key: "method.queue_from", steps: self.queue_from, before: "the queue is not filled" };
        vec![frozen, queue]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, train, views};
    use super::*;

    fn algorithm(frozen_steps: u64) -> Swav {
        Swav::new(&network(4), loss::Swav::default(), 3, frozen_steps, &Device::flex(), &mut rng(3)).unwrap()
    }

    fn moved(algorithm: &mut Swav, steps: usize) -> f32 {
        let before = algorithm.prototypes();
        train(algorithm, &Batch::default(), steps);
        (algorithm.prototypes() - before).abs().max().into_scalar()
    }

    #[test]
    fn prototypes_stand_still_and_then_move_on_the_sphere() {
        let mut algorithm = algorithm(2);
        assert!(moved(&mut algorithm, 2) < 1e-6);
        assert!(moved(&mut algorithm, 2) > 1e-5);
        let lengths = algorithm.prototypes().square().sum_dim(1).sqrt();
        assert!((lengths - 1.0).abs().max().into_scalar::<f32>() < 1e-6);
    }

    #[test]
    fn embeddings_are_taken_up_after_the_step_and_assigned_with_later_ones_once_the_queue_is_full() {
        let build = |length, from| {
            Swav::new(&network(4), loss::Swav::default(), 3, 0, &Device::flex(), &mut rng(3))
                .unwrap()
                .with_queue(length, from)
                .unwrap()
        };
        let losses = |length, from| train(&mut build(length, from), &Batch::default(), 6);
        let without = losses(0, 0);
        // Six embeddings a step: full after two steps, so the third step is the first with another assignment.
        let with = losses(12, 0);
        assert_eq!(with[..2], without[..2]);
        assert!(with[2..].iter().zip(&without[2..]).all(|(a, b)| a != b), "{with:?} {without:?}");
        let later = losses(12, 2);
        assert_eq!(later[..4], without[..4]);
        assert_ne!(later[4], without[4]);

        let mut algorithm = build(12, 0);
        train(&mut algorithm, &Batch::default(), 1);
        let loss = algorithm.loss(&views(6, 7), Batch::default()).unwrap();
        let queues = algorithm.queues.as_ref().unwrap();
        let expected = UnitRows::normalise(queues.pending[1].clone()).rows();
        let mut optimizer = Optimizer::new(crate::optim::OptimizerConfig::default()).unwrap();
        algorithm.descend(loss, &mut optimizer, 1e-3).unwrap();
        let rows = algorithm.queues.as_ref().unwrap().by_crop[1].rows();
        assert!((rows.slice([6..12]) - expected).abs().max().into_scalar::<f32>() < 1e-6);
    }

    #[test]
    fn it_learns() {
        assert!(falls(&train(&mut algorithm(0), &Batch::default(), 6)));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert!(refusal(r#"{"name": "swav", "prototypes": 0}"#, "swav").contains("method.prototypes"));
        assert!(refusal(r#"{"name": "swav", "queue_from": 3}"#, "swav").contains("method.queue_from"));
        let assigned = loss::Swav { crops_for_assign: vec![0, 2], ..loss::Swav::default() };
        let error = Swav::new(&network(4), assigned, 3, 0, &Device::flex(), &mut rng(3)).unwrap_err();
        assert!(error.to_string().contains("`crops_for_assign` is 2"), "{error}");
    }
}
