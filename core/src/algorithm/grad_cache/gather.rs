//! Distributes the chunks of a batch over the devices of all processes, and gathers their results.
//!
//! Chunk `i` of a batch belongs to device `i mod (ranks x devices of a rank)`; the devices of rank 0 come first. Projections of all
//! devices are gathered in the order of the chunks, and gradients of the parameters are summed in buckets (`all_reduce.rs`).
//!
//! Projections and gradients of parameters move between devices only in these two files. Burn 0.22 has no all-gather. From 0.23 on,
//! `Tensor::all_gather` and `Tensor::all_reduce` do the same among the devices of one process, and can replace
//! [`DeviceGroup::gather`] and [`DeviceGroup::sum`] there.

use std::ops::Range;
use std::sync::Arc;

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{DType, Device, Tensor, TensorData};

use super::all_reduce::{GradientReducer, Replica, all_reduce, all_reduce_during};
use crate::algorithm::BatchShard;
use crate::error::{Error, Result};
use crate::nn::Model;
use crate::peers::{Alone, Peers, to_host};

/// The devices that compute a step: those of this process, and its peers.
#[derive(Debug, Clone)]
pub(super) struct DeviceGroup {
    /// The first device of this process, on which the loss is computed.
    first: Device,
    /// The other devices of this process.
    pub(super) helpers: Vec<Device>,
    pub(super) peers: Arc<dyn Peers>,
}

/// The float types that projections may have, by the number that rank 0 sends.
const TYPES: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];

impl DeviceGroup {
    /// One device.
    pub(super) fn of(first: Device) -> Self {
        Self { first, helpers: Vec::new(), peers: Arc::new(Alone) }
    }

    /// All devices of this process, without autodiff.
    pub(super) fn local(&self) -> Vec<Device> {
        let helpers = self.helpers.iter().map(|device| device.clone().inner());
        std::iter::once(self.first.clone()).chain(helpers).collect()
    }

    /// The rows of this process in batches that are divided into chunks of `chunk` samples.
    pub(super) fn shard(&self, chunk: usize) -> BatchShard {
        let (rank, ranks) = (self.peers.rank(), self.peers.count());
        BatchShard { chunk, devices: 1 + self.helpers.len(), rank, ranks }
    }

    /// Gathers the rows of a batch of `samples` on the first device of every process. This process contributes those of its shard.
    ///
    /// # Errors
    /// A peer cannot be reached, or the device failed.
    pub(super) fn gather(&self, own: Vec<Tensor<2>>, shard: BatchShard, samples: usize) -> Result<Tensor<2>> {
        // Results move to the first device only after every device has got its work, so that the devices work at the same time.
        let on_first: Vec<Tensor<2>> = own.into_iter().map(|rows| rows.to_device(&self.first)).collect();
        if shard.ranks == 1 {
            return Ok(Tensor::cat(on_first, 0));
        }
        let (width, dtype) = self.width_and_type(on_first.first(), shard, samples)?;
        let own = match on_first.is_empty() {
            true => Vec::new(),
            false => to_host(Tensor::cat(on_first, 0))?,
        };
        let chunks: Vec<Vec<Range<usize>>> =
            shard.all_ranks().map(|shard| shard.chunks(samples).collect()).collect();
        let counts: Vec<usize> =
            chunks.iter().map(|rows| rows.iter().map(Range::len).sum::<usize>() * width).collect();
        let all = self.peers.all_gather(&own, &counts)?;
        let mut ordered = vec![0.0; samples * width];
        let mut from = 0;
        for rows in chunks.into_iter().flatten() {
            let to = rows.start * width..rows.end * width;
            let values = all.get(from..from + to.len()).ok_or_else(|| incomplete(all.len()))?;
            from += to.len();
            ordered[to].copy_from_slice(values);
        }
        let data = TensorData::new(ordered, [samples, width]);
        Ok(Tensor::from_data(data, (&self.first, dtype)))
    }

    /// The width and the type of the rows. A rank without a chunk learns them from rank 0.
    fn width_and_type(
        &self,
        own: Option<&Tensor<2>>,
        shard: BatchShard,
        samples: usize,
    ) -> Result<(usize, DType)> {
        let (width, dtype) = own.map_or((0, DType::F32), |rows| (rows.dims()[1], rows.dtype()));
        if shard.all_ranks().all(|shard| !shard.is_idle(samples)) {
            return Ok((width, dtype));
        }
        let at = TYPES.iter().position(|&listed| listed == dtype).unwrap_or_default();
        // A sum to which only rank 0 contributes is a broadcast of its numbers.
        let mut from_first = if self.peers.rank() == 0 { [width as f32, at as f32] } else { [0.0; 2] };
        self.peers.sum(&mut from_first)?;
        let [width, at] = from_first.map(|number| number as usize);
        Ok((width, TYPES.get(at).copied().unwrap_or(dtype)))
    }

    /// Selects the rows of this process from those of a batch.
    pub(super) fn own_rows(&self, batch: &Tensor<2>, chunk: usize) -> Tensor<2> {
        if self.peers.count() == 1 {
            return batch.clone();
        }
        let rows = self.shard(chunk).rows(batch.dims()[0]);
        Tensor::cat(rows.into_iter().map(|rows| batch.clone().slice([rows])).collect(), 0)
    }

    /// Sums the gradients of all devices on the first one: first over the devices of this process, then over all processes in
    /// one exchange.
    ///
    /// # Errors
    /// A peer cannot be reached, or the device failed.
    pub(super) fn sum(&self, model: &Model, by_device: Vec<GradientsParams>) -> Result<GradientsParams> {
        let mut accumulator = GradientsAccumulator::new();
        for gradients in by_device {
            accumulator.accumulate(model, gradients.to_device(&self.first, model));
        }
        let gradients = accumulator.grads();
        if self.peers.count() == 1 {
            return Ok(gradients);
        }
        all_reduce(Replica { model, device: &self.first }, self.peers.as_ref(), gradients)
    }

    /// Sums gradients as [`sum`](Self::sum) does, but already while `work` computes them.
    ///
    /// # Errors
    /// Those of `work`, and as [`sum`](Self::sum).
    pub(super) fn sum_during(
        &self,
        model: &Model,
        work: impl FnOnce(&mut GradientReducer) -> Result<()>,
    ) -> Result<GradientsParams> {
        all_reduce_during(Replica { model, device: &self.first }, self.peers.as_ref(), work)
    }

    /// True if this is the only process.
    pub(super) fn is_alone(&self) -> bool {
        self.peers.count() == 1
    }
}

fn incomplete(count: usize) -> Error {
    Error::Peers { reason: format!("they sent {count} numbers, fewer than the batch needs") }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::RngExt as _;

    use super::super::{BatchStatistics, GradCache};
    use super::*;
    use crate::algorithm::testing::{largest_difference, rng};
    use crate::algorithm::{Algorithm, ModelConfig, Views};
    use crate::loss::batch::Batch;
    use crate::loss::{HardNegCclk, NtXent, Objective, SupCon};
    use crate::nn::checkpoint::flattened;
    use crate::nn::head::{HeadConfig, HeadKind};
    use crate::nn::resnet::Stem;
    use crate::nn::{Architecture, EncoderConfig};
    use crate::optim::rules::Sgd;
    use crate::optim::{Optimizer, OptimizerConfig};
    use crate::peers::threads::together;

    struct Setup {
        network: ModelConfig,
        objective: fn() -> Box<dyn Objective>,
        statistics: BatchStatistics,
        chunk: usize,
        samples: usize,
        /// Devices of each process.
        devices: usize,
    }

    fn images(samples: usize, side: usize, seed: u64) -> Tensor<4> {
        let mut rng = rng(seed);
        let values: Vec<f32> = (0..samples * 3 * side * side).map(|_| rng.random_range(-1.0..1.0)).collect();
        Tensor::from_data(TensorData::new(values, [samples, 3, side, side]), (&Device::flex(), DType::F32))
    }

    /// The values of all trained parameters.
    fn parameters(model: &Model) -> Vec<f32> {
        let tensors = [flattened("", &model.encoder), flattened("", &model.head)];
        let parameters = tensors.into_iter().flatten().filter(|tensor| !tensor.name.contains("running"));
        let numbers =
            |values: Tensor<1>| values.without_autodiff().into_data().iter::<f32>().collect::<Vec<f32>>();
        parameters.flat_map(|tensor| numbers(tensor.values)).collect()
    }

    /// The losses of two steps, the parameters after them, and the largest change of a parameter.
    fn trained(setup: &Setup, peers: Arc<dyn Peers>) -> (Vec<f32>, Vec<f32>, f32) {
        let Setup { network, objective, statistics, chunk, samples, devices } = setup;
        let device = Device::flex();
        let cached = GradCache::new(network, objective(), *chunk, &device, &mut rng(1)).unwrap();
        let mut cached = cached.with_statistics(*statistics).unwrap();
        cached.use_devices(&vec![device.clone(); devices - 1]).unwrap();
        cached.use_peers(peers).unwrap();
        // Batch norm over few pictures enlarges rounding errors, so the learning rate is small. At 1e-4, two steps on one device and
        // on three of one process differ by 2e-6; those of one process and of two differ by 4e-6.
        let learning_rate = if network.encoder.name == Architecture::ResNet18 { 1e-5 } else { 0.1 };
        let sgd = Sgd { learning_rate, momentum: 0.9, ..Sgd::default() };
        let mut optimizer = Optimizer::new(OptimizerConfig::Sgd(sgd)).unwrap();
        let before = parameters(cached.model());
        let mut losses = Vec::new();
        for step in 0..2 {
            let own = cached.shard().rows(*samples);
            let side = network.encoder.input_size;
            let part = |whole: Tensor<4>| {
                Tensor::cat(own.iter().map(|rows| whole.clone().slice([rows.clone()])).collect(), 0)
            };
            let [a, b] = [0, 1].map(|view| part(images(*samples, side, 2 * step + view + 5)));
            let views = Views::new(a, b).unwrap().out_of(*samples);
            let labels = (0..*samples).map(|sample| sample % 3).collect();
            let loss = cached.loss(&views, Batch::default().with_indices("labels", labels)).unwrap();
            losses.push(loss.clone().without_autodiff().into_scalar::<f32>());
            cached.descend(loss, &mut optimizer, learning_rate).unwrap();
        }
        let after = parameters(cached.model());
        let moved = largest_difference(&after, &before);
        (losses, after, moved)
    }

    /// Trains with one process and with several. The several agree in every bit with each other, and with the one up to rounding.
    fn agree(setup: &Setup, counts: &[usize]) {
        let (expected_losses, expected, moved) = trained(setup, Arc::new(Alone));
        for &count in counts {
            let all = together(count, |peers| trained(setup, peers));
            assert_eq!(all.len(), count, "a process failed");
            for (rank, (losses, parameters, _)) in all.iter().enumerate() {
                let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
                assert!(bits(parameters) == bits(&all[0].1), "rank {rank} of {count} differs from rank 0");
                assert_eq!(bits(losses), bits(&all[0].0));
            }
            let (losses, parameters, _) = &all[0];
            let loss_error = largest_difference(losses, &expected_losses);
            let parameter_error = largest_difference(parameters, &expected);
            assert!(loss_error < 1e-5, "{count} processes: losses differ by {loss_error}");
            assert!(parameter_error < 1e-6, "{count} processes: parameters differ by {parameter_error}");
            // If a part of the gradient were lost or counted twice, a parameter would change by about as much as in a step.
            assert!(
                moved > 20.0 * parameter_error,
                "{count} processes: {parameter_error} of steps of {moved}"
            );
        }
    }

    fn network(name: Architecture, head: HeadKind) -> ModelConfig {
        let residual = name == Architecture::ResNet18;
        let (input_size, stem, width) =
            if residual { (16, Some(Stem::Cifar), Some(8)) } else { (32, None, None) };
        ModelConfig {
            encoder: EncoderConfig { name, input_size, stem, width, ..EncoderConfig::default() },
            head: HeadConfig { kind: head, hidden: Some(16), output: 8 },
            ..ModelConfig::default()
        }
    }

    #[test]
    fn chunks_of_a_batch_belong_to_devices_in_turn() {
        let rows = |count, helpers: usize, samples| {
            together(count, |peers| {
                let helpers = vec![Device::flex(); helpers];
                DeviceGroup { peers, helpers, first: Device::flex() }.shard(2).rows(samples)
            })
        };
        assert_eq!(rows(3, 0, 11), [vec![0..2, 6..8], vec![2..4, 8..10], vec![4..6, 10..11]]);
        assert_eq!(rows(2, 1, 11), [vec![0..2, 2..4, 8..10, 10..11], vec![4..6, 6..8]]);
        assert_eq!(rows(1, 2, 11), [vec![0..11]]);
        assert_eq!(rows(3, 0, 3), [vec![0..2], vec![2..3], vec![0..1]]);
    }

    #[test]
    fn processes_train_lenet_as_one_does() {
        let objectives: [fn() -> Box<dyn Objective>; 3] = [
            || Box::new(NtXent::default()),
            || Box::new(SupCon::default()),
            || Box::new(HardNegCclk::default()),
        ];
        for objective in objectives {
            let network = network(Architecture::LeNet5, HeadKind::Mlp);
            // With 5 samples the last of four processes has no chunk.
            for (samples, devices) in [(9, 1), (5, 1), (9, 2)] {
                let statistics = BatchStatistics::Chunk;
                let setup =
                    Setup { network: network.clone(), objective, statistics, chunk: 2, samples, devices };
                agree(&setup, if devices == 1 { &[1, 2, 4] } else { &[2] });
            }
        }
    }

    #[test]
    fn processes_train_a_residual_network_as_one_does() {
        // Batch norm over few pictures enlarges the rounding of similarities, which the temperature divides: at 0.5, losses differ by
        // up to 1.0e-5 with AVX2.
        const TEMPERATURE: f64 = 2.0;
        for (statistics, processes) in [(BatchStatistics::Chunk, 2), (BatchStatistics::Batch, 4)] {
            let network = network(Architecture::ResNet18, HeadKind::Released);
            let objective: fn() -> Box<dyn Objective> = || Box::new(NtXent { temperature: TEMPERATURE });
            let setup = Setup { network, objective, statistics, chunk: 4, samples: 14, devices: 1 };
            agree(&setup, &[processes]);
        }
    }

    #[test]
    fn statistics_of_the_batch_in_any_number_of_processes_are_those_of_one_pass() {
        let network = network(Architecture::LeNet5, HeadKind::Released);
        let objective: fn() -> Box<dyn Objective> = || Box::new(NtXent::default());
        let of = |chunk| Setup {
            network: network.clone(),
            objective,
            statistics: BatchStatistics::Batch,
            chunk,
            samples: 5,
            devices: 1,
        };
        let [one_pass, chunks] = [5, 2].map(|chunk| trained(&of(chunk), Arc::new(Alone)).1);
        let off = largest_difference(&chunks, &one_pass);
        assert!(off < 2e-5, "{off}");
        agree(&of(2), &[2, 4]);
    }
}
