//! The bytes that the processes of a step send each other, computed from the settings alone.
//!
//! ```text
//! projections   4 · 2 b w (R - 1) / R                    b samples with w numbers for each of two views, gathered by R processes
//! loss          4 · (2 b + 2 · 2 b w) (R - 1) / R        a sum for each anchor gathered; gradients of all candidates summed
//! parameters    4 · 2 p (R - 1) / R                      gradients of p parameters summed
//! ```
//!
//! Each process sends as much as it receives if numbers go round in a ring, as MPI and NCCL do it with large messages: a gather
//! moves every number past every process once, a sum twice. The loss is that of an objective of pairs whose anchors the processes
//! share (`loss::pairwise`); every process evaluates other objectives whole, which moves nothing. Batch norm by the statistics of
//! the batch adds vectors of a few hundred numbers for each layer; latency decides their time.
//!
//! A test compares the formula with the numbers that are moved, and another with the table of `BENCHMARKS.md`; nothing else reads it.
#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use burn::tensor::{DType, Device, Tensor, TensorData};

use super::memory::F32_BYTES;
use super::{Trainer, TrainerConfig};
use crate::algorithm::{
    AlgorithmConfig, BatchStatistics, GradCacheSettings, PairCount, StepSize, TrainingSet, Views, Workload,
};
use crate::loss::ObjectiveConfig;
use crate::loss::batch::Batch;
use crate::nn::checkpoint::flattened;
use crate::nn::head::{HeadConfig, HeadKind};
use crate::nn::resnet::Stem;
use crate::nn::{Architecture, EncoderConfig};
use crate::peers::threads::together_counted;

/// Bytes that each process of a step sends, and receives.
struct CommunicationVolume {
    /// The projections of the batch.
    projections: u64,
    /// Sums of anchors, and gradients of candidates.
    loss: u64,
    /// Gradients of the parameters.
    parameters: u64,
}

impl TrainerConfig {
    /// The bytes that each process sends in a step of the method `cached`. It uses the same settings as
    /// [`step_cost`](Self::step_cost).
    fn communication_volume(&self, size: StepSize, parameters: u64, processes: u64) -> CommunicationVolume {
        let Workload { pairs, .. } = self.workload(size);
        let PairCount { anchors, width, .. } = pairs;
        let round = |numbers: u64| {
            let processes = u128::from(processes.max(1));
            (u128::from(F32_BYTES) * u128::from(numbers) * (processes - 1) / processes) as u64
        };
        CommunicationVolume {
            projections: round(2 * size.samples as u64 * self.head.output as u64),
            loss: round(anchors) + 2 * round(anchors * width),
            parameters: 2 * round(parameters),
        }
    }
}

fn config(encoder: EncoderConfig, head: HeadConfig, chunk: usize) -> TrainerConfig {
    TrainerConfig {
        encoder,
        head,
        algorithm: AlgorithmConfig::GradCache(GradCacheSettings {
            chunk,
            statistics: BatchStatistics::Chunk,
        }),
        objective: ObjectiveConfig::named("nt-xent"),
        ..TrainerConfig::default()
    }
}

#[test]
fn the_formula_counts_the_numbers_that_are_moved() {
    const SAMPLES: usize = 8;
    let head = HeadConfig { kind: HeadKind::Linear, output: 6, ..HeadConfig::default() };
    let config = config(EncoderConfig::default(), head, 2);
    let work = |peers| {
        let mut trainer = Trainer::new(config.clone(), &TrainingSet::default(), &Device::flex()).unwrap();
        trainer.use_peers(peers).unwrap();
        let rows = trainer.shard().rows(SAMPLES).into_iter().map(|rows| rows.len()).sum::<usize>();
        let shape = [rows, 3, 32, 32];
        let values = (0..rows * 3072).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<f32>>();
        let images = Tensor::<4>::from_data(TensorData::new(values, shape), (&Device::flex(), DType::F32));
        let views = Views::new(images.clone(), images * 0.5).unwrap().out_of(SAMPLES);
        trainer.step_on(views, Batch::default()).unwrap();
        let tensors = [flattened("", trainer.encoder()), flattened("", trainer.head())];
        let sizes = tensors.iter().flatten().map(|tensor| tensor.values.dims()[0] as u64);
        (sizes.clone().sum::<u64>(), sizes.count() as u64)
    };
    let (done, traffic) = together_counted(2, work);
    assert_eq!(done.len(), 2);
    let (parameters, tensors) = done[0];
    let volume = config.communication_volume(StepSize { samples: SAMPLES, to_classify: None }, parameters, 2);
    // Each of two processes sends half of the gathered numbers and, in two rounds, all of the summed numbers. One more number
    // for each tensor of parameters says whether it has a gradient.
    let sums = 4 * SAMPLES as u64;
    assert_eq!(volume.projections + sums, 4 * traffic.gathered / 2);
    assert_eq!(volume.loss - sums + volume.parameters, 4 * (traffic.summed - tensors));
}

#[test]
fn the_table_of_figures_is_that_of_the_formula() {
    let encoder = EncoderConfig {
        name: Architecture::ResNet50,
        stem: Some(Stem::Imagenet),
        input_size: 224,
        ..EncoderConfig::default()
    };
    let head = HeadConfig { kind: HeadKind::Mlp, hidden: Some(2048), output: 128 };
    let of = |samples, processes| {
        let size = StepSize { samples, to_classify: None };
        config(encoder.clone(), head.clone(), 64).communication_volume(size, 27_966_656, processes)
    };
    let megabytes = |volume: CommunicationVolume| {
        [volume.projections, volume.loss, volume.parameters].map(|bytes| (bytes as f64 / 1e5).round() / 10.0)
    };
    let table = [(4096, 8), (4096, 64), (65_536, 8), (65_536, 64)].map(|(b, r)| megabytes(of(b, r)));
    let expected = [[3.7, 7.4, 195.8], [4.1, 8.3, 220.2], [58.7, 117.9, 195.8], [66.1, 132.6, 220.2]];
    assert_eq!(table, expected);
}
