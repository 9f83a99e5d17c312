//! The loss of a whole batch from chunks of it: gradient caching.

mod all_reduce;
mod by_sections;
mod gather;
mod settings;
mod whole_batch;

use std::iter;
use std::sync::Arc;

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use self::all_reduce::GradientReducer;
use self::by_sections::BySections;
use self::gather::DeviceGroup;
use self::whole_batch::{ChunkOutputs, WholeBatch};
use super::passes::{self, ViewOutputs};
use super::state::TRAINED;
use super::{Algorithm, BatchShard, ModelConfig, StateReader, StateWriter, Views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::{Conditioning, Evaluation, Objective};
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::optim::Optimizer;
use crate::peers::Peers;
use crate::step_stage::StepStage;

pub use self::settings::{BatchStatistics, GradCacheSettings};

/// One network and one objective as in [`Single`](super::Single), `chunk` samples at a time.
///
/// Its [`loss`](Algorithm::loss) has no graph: that of the whole batch never exists. The gradients of the step are kept here, and
/// [`descend`](Algorithm::descend) takes them, whatever loss it is given.
///
/// A batch larger than memory, or than one device: the loss of the whole batch from chunks of it (gradient caching; Gao,
/// Zhang, Han & Callan, *Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup*, 2021).
///
/// ```text
/// 1  z_c = f(x_c) for every chunk c, without a graph
/// 2  the loss of all z, and its gradient g_c with respect to each z_c
/// 3  f(x_c) once more for every chunk, now with a graph; the gradients of sum(f(x_c) * g_c) add up over c
/// ```
///
/// The result equals that of one pass; it is no approximation, unlike accumulating the losses of small batches. It
/// costs twice the forward work and needs the memory of one chunk. Chunks can be shared among devices, each with a
/// copy of the network, and among processes, each with devices of its own ([`Peers`]). All projections are gathered on the
/// first device of every process, so that every sample has the negatives of all of them. Each process evaluates the loss,
/// keeps the gradients of its own rows, and adds its gradients of the parameters to those of the others. The last
/// chunk of each device keeps the graph of its first pass: with one chunk for each device nothing is computed twice. The chunk that
/// a process differentiates last goes section by section, so that sums over processes run beside its backward pass.
///
/// Batch norm is the exception: it takes its statistics from a chunk, as distributed training does from each device. Its
/// running averages are those of the chunks of the first device of each process, and move in both passes. With
/// [`BatchStatistics::Batch`] it takes them from all chunks, and the step is that of one pass.
#[derive(Debug)]
pub struct GradCache {
    model: Model,
    objective: Box<dyn Objective>,
    chunk: usize,
    statistics: BatchStatistics,
    devices: DeviceGroup,
    pending: Option<Pending>,
}

/// The forward passes of a step whose backward passes are still to come.
#[derive(Debug)]
enum Pending {
    Chunks(Vec<Replica>),
    /// The passes of the whole batch, with the gradients of the projections.
    WholeBatch(Box<(WholeBatch, [Option<Tensor<2>>; 2])>),
}

/// The copy of the network on one device in one step, with the chunks of this device.
#[derive(Debug)]
struct Replica {
    model: Model,
    chunks: Vec<Chunk>,
}

/// Some samples with the gradients of the loss with respect to their projections.
#[derive(Debug)]
struct Chunk {
    views: Views,
    pass: Option<Pass>,
    gradients: [Option<Tensor<2>>; 2],
}

/// A pass of both views through a network, with its graph, or with those of its sections.
#[derive(Debug)]
struct Pass {
    embeddings: ViewOutputs,
    projections: [Tensor<2>; 2],
    by_sections: Option<BySections>,
}

impl GradCache {
    /// A randomly initialised network; `chunk` samples, two views each, are in memory at once.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        network: &ModelConfig,
        objective: Box<dyn Objective>,
        chunk: usize,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        if chunk == 0 {
            return Err(Error::parameter("method.chunk", chunk, "expected 1 or more"));
        }
        let (model, device) = (network.init(device, rng)?, device.clone().inner());
        let (statistics, devices) = (BatchStatistics::default(), DeviceGroup::of(device));
        Ok(Self { model, objective, chunk, statistics, devices, pending: None })
    }

    /// The same with batch norm by these statistics.
    ///
    /// # Errors
    /// The encoder cannot be taken in steps between its batch norms.
    pub fn with_statistics(self, statistics: BatchStatistics) -> Result<Self> {
        if statistics == BatchStatistics::Batch {
            whole_batch::check(&self.model)?;
        }
        Ok(Self { statistics, ..self })
    }
}

impl Algorithm for GradCache {
    fn name(&self) -> &'static str {
        "cached"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn share(&mut self, helpers: &[Device]) -> Result<()> {
        self.devices.helpers = helpers.iter().map(|device| device.clone().autodiff()).collect();
        Ok(())
    }

    fn join(&mut self, peers: Arc<dyn Peers>) -> Result<()> {
        self.devices.peers = peers;
        Ok(())
    }

    fn shard(&self) -> BatchShard {
        self.devices.shard(self.chunk)
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        match self.statistics {
            BatchStatistics::Chunk => {
                let (replicas, outputs) = self.forward(views);
                let (loss, gradients) = self.evaluate(outputs, context, views.batch)?;
                self.pending = Some(Pending::Chunks(self.with_gradients(replicas, &gradients)));
                Ok(loss)
            }
            BatchStatistics::Batch => {
                let models = self.replicas().into_iter().map(|replica| replica.model);
                let copies = models.zip(self.devices.local()).collect();
                let chunks = (self.own_chunks(views), views.per_view_batch_norm);
                let (passes, outputs) = WholeBatch::forward(copies, chunks, self.devices.peers.clone())?;
                let (loss, gradients) = self.evaluate(outputs, context, views.batch)?;
                self.pending = Some(Pending::WholeBatch(Box::new((passes, gradients))));
                Ok(loss)
            }
        }
    }

    fn descend(&mut self, _loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        let sum = match self.pending.take() {
            None => self.devices.sum(&self.model, Vec::new())?,
            Some(Pending::Chunks(replicas)) if self.devices.is_alone() => {
                let gradients = replicas.into_iter().map(Replica::gradients).collect::<Result<_>>()?;
                self.devices.sum(&self.model, gradients)?
            }
            Some(Pending::Chunks(replicas)) => {
                self.devices.sum_during(&self.model, |reducer| add_gradients(reducer, replicas))?
            }
            Some(Pending::WholeBatch(pending)) => {
                let (passes, gradients) = *pending;
                self.devices.sum(&self.model, passes.gradients(&gradients)?)?
            }
        };
        self.model = optimizer.step(learning_rate, self.model.clone(), sum);
        Ok(())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.model);
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(TRAINED, self.model.clone())?;
        Ok(())
    }
}

impl GradCache {
    /// The chunks of this process.
    fn own_chunks(&self, views: &Views) -> Vec<Views> {
        if self.shard().is_idle(views.batch) { Vec::new() } else { views.chunks(self.chunk) }
    }

    /// The first pass of every chunk, and the outputs of all of them.
    fn forward(&self, views: &Views) -> (Vec<Replica>, ChunkOutputs) {
        let mut replicas = self.replicas();
        let chunks = self.own_chunks(views);
        let first_kept = chunks.len().saturating_sub(replicas.len());
        // The chunk that this process differentiates last, section by section, if there are other processes.
        let last = (!self.devices.is_alone()).then(|| chunks.len().min(replicas.len()).saturating_sub(1));
        let mut projections = [Vec::new(), Vec::new()];
        let mut embeddings = [Vec::new(), Vec::new()];
        let needs_embeddings = self.objective.spec().conditioning() == Conditioning::Representation;
        for (index, views) in chunks.into_iter().enumerate() {
            let device = index % replicas.len();
            let views = match device {
                0 => views,
                helper => views.to_device(&self.devices.helpers[helper - 1]),
            };
            let is_kept = index >= first_kept;
            let pass = match is_kept && last == Some(index) {
                true => Pass::by_sections(&replicas[device].model, &views),
                false => Pass::of(&replicas[device].model, &views),
            };
            for (view_parts, projections) in projections.iter_mut().zip(&pass.projections) {
                view_parts.push(projections.clone().without_autodiff());
            }
            if needs_embeddings {
                for (view_parts, embeddings) in embeddings.iter_mut().zip(pass.embeddings.split()) {
                    view_parts.push(embeddings.without_autodiff());
                }
            }
            let pass = is_kept.then_some(pass);
            replicas[device].chunks.push(Chunk { views, pass, gradients: [None, None] });
        }
        (replicas, ChunkOutputs { embeddings, projections })
    }

    /// The loss of a batch, and its gradients with respect to the projections of each view of the samples of this process.
    fn evaluate(
        &self,
        outputs: ChunkOutputs,
        context: Batch,
        samples: usize,
    ) -> Result<(Tensor<1>, [Option<Tensor<2>>; 2])> {
        let gather = |[a, b]: [Vec<Tensor<2>>; 2]| -> Result<[Tensor<2>; 2]> {
            let gather = |parts| self.devices.gather(parts, (samples, self.chunk));
            Ok([gather(a)?, gather(b)?])
        };
        let ChunkOutputs { embeddings, projections } = outputs;
        let [a, b] = gather(projections)?;
        let context = loss::with_representations(self.objective.as_ref(), context, || gather(embeddings))?;
        let batch =
            context.with_tensor("logits", a.clone()).with_tensor("view_a", a).with_tensor("view_b", b);
        let batch = batch.with_peers(self.devices.peers.clone());
        let Evaluation { loss, mut gradients, .. } = {
            let _span = StepStage::Loss.enter();
            self.objective.evaluate(&batch)?
        };
        let grad_a = match (gradients.remove("view_a"), gradients.remove("logits")) {
            (Some(view), Some(logits)) => Some(view + logits),
            (view, logits) => view.or(logits),
        };
        let grad_views = [grad_a, gradients.remove("view_b")];
        if grad_views.iter().all(Option::is_none) {
            return Err(Error::Degenerate {
                reason: "the loss depends on no network".into(),
                remedy: "train with another objective, or with the method that it belongs to".into(),
            });
        }
        Ok((
            loss,
            grad_views
                .map(|grad_view| grad_view.map(|grad_view| self.devices.own_rows(&grad_view, self.chunk))),
        ))
    }

    /// Hands every chunk the gradients of its projections, from those of the samples of this process.
    fn with_gradients(
        &self,
        mut replicas: Vec<Replica>,
        grad_views: &[Option<Tensor<2>>; 2],
    ) -> Vec<Replica> {
        let count = replicas.len();
        for (device, Replica { chunks, .. }) in replicas.iter_mut().enumerate() {
            for (round, chunk) in chunks.iter_mut().enumerate() {
                let start = (round * count + device) * self.chunk;
                let rows = start..start + chunk.views.samples();
                let to = chunk.views.a.device();
                let rows_of_chunk = |grad_view: Tensor<2>| grad_view.slice([rows.clone()]).to_device(&to);
                chunk.gradients = grad_views.clone().map(|grad_view| grad_view.map(rows_of_chunk));
            }
        }
        replicas
    }

    /// The current network on every device, the first device first.
    fn replicas(&self) -> Vec<Replica> {
        // A clone shares its running averages with the model and would move them to the other device.
        let copy = |device| self.model.valid().train().fork(device);
        let copies = self.devices.helpers.iter().map(copy);
        let models = iter::once(self.model.clone()).chain(copies);
        models.map(|model| Replica { model, chunks: Vec::new() }).collect()
    }
}

/// Adds the gradients of the parameters from all chunks of this process to the sums over processes. The last chunk adds those of
/// one section after another, so that a section is summed while those before it are differentiated.
fn add_gradients(reducer: &mut GradientReducer, mut replicas: Vec<Replica>) -> Result<()> {
    let last = replicas.iter_mut().rev().find(|replica| !replica.chunks.is_empty());
    let last = last.map(|replica| (replica.model.clone(), replica.chunks.remove(0)));
    for replica in replicas {
        reducer.add(replica.gradients()?);
    }
    last.map_or(Ok(()), |(model, chunk)| chunk.add_sections(reducer, &model))
}

impl Replica {
    /// The gradients of the parameters from all chunks of this device.
    fn gradients(self) -> Result<GradientsParams> {
        let mut accumulator = GradientsAccumulator::new();
        // The chunk with a graph first, so that its memory is freed for the others.
        for chunk in self.chunks.into_iter().rev() {
            accumulator.accumulate(&self.model, chunk.gradients(&self.model)?);
        }
        Ok(accumulator.grads())
    }
}

impl Chunk {
    /// The gradients of the parameters, from those of the chunk's projections.
    fn gradients(self, model: &Model) -> Result<GradientsParams> {
        let Pass { projections, .. } = self.pass.unwrap_or_else(|| Pass::of(model, &self.views));
        match passes::surrogate_loss(projections.into_iter().zip(self.gradients)) {
            Some(sum) => passes::gradients(model, sum),
            None => Ok(GradientsParams::new()),
        }
    }

    /// Adds the gradients of the parameters to the sums over processes, section by section.
    fn add_sections(self, reducer: &mut GradientReducer, model: &Model) -> Result<()> {
        let by_sections = self.pass.and_then(|pass| pass.by_sections);
        let pass = by_sections.unwrap_or_else(|| BySections::forward(model, &self.views));
        pass.backward(model, self.gradients, |grad_section| reducer.add_section(grad_section))
    }
}

impl Pass {
    fn of(model: &Model, views: &Views) -> Self {
        let embeddings = passes::embed(model, views);
        let projections = embeddings.project(model).split();
        Self { embeddings, projections, by_sections: None }
    }

    fn by_sections(model: &Model, views: &Views) -> Self {
        let pass = BySections::forward(model, views);
        Self { embeddings: pass.embeddings(), projections: pass.projections(), by_sections: Some(pass) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{network, rng, train, views};
    use super::super::{Single, StateWriter};
    use super::*;
    use crate::loss::{CrossEntropy, NtXent};
    use crate::nn::head::HeadConfig;
    use crate::nn::resnet::Stem;
    use crate::nn::{Architecture, EncoderConfig};
    use crate::optim::OptimizerConfig;
    use crate::optim::rules::Sgd;

    /// The parameters after one step of plain gradient descent, which is linear in the gradient.
    fn descended(algorithm: &mut dyn Algorithm) -> (f32, Vec<f32>) {
        let context = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1]);
        let sgd = Sgd { learning_rate: 1.0, momentum: 0.0, ..Sgd::default() };
        let mut optimizer = Optimizer::new(OptimizerConfig::Sgd(sgd)).unwrap();
        let loss = algorithm.loss(&views(5, 3), context).unwrap();
        let value = loss.clone().without_autodiff().into_scalar::<f32>();
        algorithm.descend(loss, &mut optimizer, 1.0).unwrap();
        let features = algorithm.model().valid().encoder.forward(views(5, 4).a.inner());
        (value, features.into_data().iter::<f32>().collect())
    }

    #[test]
    fn chunks_descend_as_one_pass_does() {
        let objectives: [fn() -> Box<dyn Objective>; 2] =
            [|| Box::new(NtXent::default()), || Box::new(CrossEntropy::default())];
        for objective in objectives {
            let device = Device::flex();
            let mut single = Single::new(&network(3), objective(), &device, &mut rng(1)).unwrap();
            let (loss, expected) = descended(&mut single);
            for chunk in [1, 2, 5, 9] {
                let cached = GradCache::new(&network(3), objective(), chunk, &device, &mut rng(1));
                let (cached_loss, features) = descended(&mut cached.unwrap());
                assert!((cached_loss - loss).abs() < 1e-5, "{cached_loss} {loss}");
                let off = features.iter().zip(&expected).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
                assert!(off < 1e-4, "chunks of {chunk}: {off}");
            }
        }
    }

    /// The step of ResNet-18 with the released head, whose batch norms see chunks or the batch.
    #[test]
    fn chunks_with_statistics_of_the_batch_descend_as_one_pass_does_and_others_do_not() {
        let network = ModelConfig {
            encoder: EncoderConfig {
                name: Architecture::ResNet18,
                stem: Some(Stem::Cifar),
                width: Some(8),
                ..EncoderConfig::default()
            },
            head: HeadConfig { hidden: Some(16), output: 8, ..HeadConfig::default() },
            ..ModelConfig::default()
        };
        let (device, objective) = (Device::flex(), || Box::new(NtXent::default()));
        let mut single = Single::new(&network, objective(), &device, &mut rng(1)).unwrap();
        let (expected_loss, expected) = descended(&mut single);
        let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let off = |chunk: usize, helpers: usize, statistics: BatchStatistics| {
            let cached = GradCache::new(&network, objective(), chunk, &device, &mut rng(1)).unwrap();
            let mut cached = cached.with_statistics(statistics).unwrap();
            cached.share(&vec![device.clone(); helpers]).unwrap();
            let (loss, features) = descended(&mut cached);
            let off = features.iter().zip(&expected).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
            ((loss - expected_loss).abs(), off / largest)
        };
        let (loss, features) = off(2, 1, BatchStatistics::Batch);
        assert!(loss < 1e-4 && features < 1e-2, "{loss}, {features}");
        let (loss, features) = off(2, 1, BatchStatistics::Chunk);
        assert!(loss > 1e-3 && features > 1e-2, "{loss}, {features}");
    }

    /// Chunks of the helper devices move to the device of the model and back.
    #[test]
    fn devices_descend_as_one_does() {
        let device = Device::flex();
        let mut single = Single::new(&network(3), Box::new(NtXent::default()), &device, &mut rng(1)).unwrap();
        let (loss, expected) = descended(&mut single);
        for (chunk, helpers) in [(3, 1), (1, 1), (2, 2), (1, 6)] {
            let mut cached =
                GradCache::new(&network(3), Box::new(NtXent::default()), chunk, &device, &mut rng(1))
                    .unwrap();
            cached.share(&vec![device.clone(); helpers]).unwrap();
            let (cached_loss, features) = descended(&mut cached);
            assert!((cached_loss - loss).abs() < 1e-5, "{cached_loss} {loss}");
            let off = features.iter().zip(&expected).fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(off < 1e-4, "chunks of {chunk} on {} devices: {off}", helpers + 1);
        }
    }

    #[test]
    fn a_loss_falls() {
        let mut algorithm =
            GradCache::new(&network(3), Box::new(NtXent::default()), 4, &Device::flex(), &mut rng(1))
                .unwrap();
        assert!(super::super::testing::falls(&train(&mut algorithm, &Batch::default(), 4)));
        assert!(algorithm.save(&mut StateWriter::default()).is_ok());
    }
}
