//! The loss of a whole batch from chunks of it: gradient caching.

mod all_reduce;
mod by_sections;
mod chunk_outputs;
mod chunks;
mod gather;
mod settings;
mod whole_batch;

use std::iter;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;

use self::chunk_outputs::ChunkOutputs;
use self::chunks::{ChunkOptions, Chunks};
use self::gather::DeviceGroup;
use self::whole_batch::WholeBatch;
use super::passes::no_network;
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
    Chunks(Chunks),
    /// The passes of the whole batch, with the gradients of the projections.
    WholeBatch(Box<(WholeBatch, [Option<Tensor<2>>; 2])>),
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

    fn use_devices(&mut self, helpers: &[Device]) -> Result<()> {
        self.devices.helpers = helpers.iter().map(|device| device.clone().autodiff()).collect();
        Ok(())
    }

    fn use_peers(&mut self, peers: Arc<dyn Peers>) -> Result<()> {
        self.devices.peers = peers;
        Ok(())
    }

    fn shard(&self) -> BatchShard {
        self.devices.shard(self.chunk)
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        match self.statistics {
            BatchStatistics::Chunk => {
                let options = ChunkOptions {
                    size: self.chunk,
                    needs_embeddings: self.objective.spec().conditioning() == Conditioning::Representation,
                    last_by_sections: !self.devices.is_alone(),
                };
                let (models, chunks) = (self.models(), self.own_chunks(views));
                let (chunks, outputs) = Chunks::forward(models, &self.devices.helpers, chunks, options);
                let (loss, gradients) = self.evaluate(outputs, context, views.batch)?;
                self.pending = Some(Pending::Chunks(chunks.with_gradients(&gradients)));
                Ok(loss)
            }
            BatchStatistics::Batch => {
                let copies = self.models().into_iter().zip(self.devices.local()).collect();
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
            Some(Pending::Chunks(chunks)) if self.devices.is_alone() => {
                self.devices.sum(&self.model, chunks.gradients()?)?
            }
            Some(Pending::Chunks(chunks)) => {
                self.devices.sum_during(&self.model, |reducer| chunks.add_to(reducer))?
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

    /// The loss of a batch, and its gradients with respect to the projections of each view of the samples of this process.
    fn evaluate(
        &self,
        outputs: ChunkOutputs,
        context: Batch,
        samples: usize,
    ) -> Result<(Tensor<1>, [Option<Tensor<2>>; 2])> {
        let gather = |[a, b]: [Vec<Tensor<2>>; 2]| -> Result<[Tensor<2>; 2]> {
            let gather = |parts| self.devices.gather(parts, self.shard(), samples);
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
            return Err(no_network());
        }
        Ok((
            loss,
            grad_views
                .map(|grad_view| grad_view.map(|grad_view| self.devices.own_rows(&grad_view, self.chunk))),
        ))
    }

    /// The current network on every device, the first device first.
    fn models(&self) -> Vec<Model> {
        // A clone shares its running averages with the model and would move them to the other device.
        let copy = |device| self.model.valid().train().fork(device);
        let copies = self.devices.helpers.iter().map(copy);
        iter::once(self.model.clone()).chain(copies).collect()
    }
}

/// The numbers of a step that tests compare with those of another way to take it.
#[cfg(test)]
mod testing {
    use burn::module::{ModuleVisitor, Param};
    use burn::optim::GradientsParams;
    use burn::tensor::Element;

    use super::*;
    use crate::nn::checkpoint::flattened;

    pub(super) fn numbers<E: Element, const D: usize>(tensor: Tensor<D>) -> Vec<E> {
        tensor.without_autodiff().into_data().iter::<E>().collect()
    }

    /// The gradient of each parameter, in the order of the network, out of those of its parts.
    pub(super) fn parameter_gradients<E: Element>(model: &Model, parts: &[GradientsParams]) -> Vec<Vec<E>> {
        let mut gradients = ParameterGradients { parts, in_order: Vec::new() };
        model.visit(&mut gradients);
        gradients.in_order
    }

    /// The running statistics of each batch norm.
    pub(super) fn running_statistics<E: Element>(model: &Model) -> Vec<Vec<E>> {
        let tensors = [flattened("", &model.encoder), flattened("", &model.head)].into_iter().flatten();
        let running = tensors.filter(|tensor| tensor.name.contains("running"));
        running.map(|tensor| numbers(tensor.values)).collect()
    }

    struct ParameterGradients<'g, E> {
        parts: &'g [GradientsParams],
        in_order: Vec<Vec<E>>,
    }

    impl<E: Element> ModuleVisitor for ParameterGradients<'_, E> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let of_param: Vec<_> = self.parts.iter().filter_map(|part| part.get::<D>(param.id)).collect();
            assert!(of_param.len() < 2, "a parameter has the gradients of two parts");
            self.in_order.extend(of_param.into_iter().map(numbers::<E, D>));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Single;
    use super::super::testing::{largest_difference, network, rng, views};
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
                let off = largest_difference(&features, &expected);
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
            cached.use_devices(&vec![device.clone(); helpers]).unwrap();
            let (loss, features) = descended(&mut cached);
            let off = largest_difference(&features, &expected);
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
            cached.use_devices(&vec![device.clone(); helpers]).unwrap();
            let (cached_loss, features) = descended(&mut cached);
            assert!((cached_loss - loss).abs() < 1e-5, "{cached_loss} {loss}");
            let off = largest_difference(&features, &expected);
            assert!(off < 1e-4, "chunks of {chunk} on {} devices: {off}", helpers + 1);
        }
    }
}
