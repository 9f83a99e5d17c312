//! Sums the gradients of the parameters over processes, in buckets, as distributed data-parallel training does.
//!
//! A bucket holds the parameters of whole sections of the network, the last section first, so that a thread sums one bucket while
//! the earlier sections are still being differentiated. The buckets depend on the network alone: they are the same in every process,
//! with or without chunks. Small sections share a bucket, because every sum has a latency too.
//!
//! A process that fails in a step still takes part in all remaining sums and marks them as failed. So all processes leave the step
//! together, and none waits for another.

use std::collections::{HashMap, HashSet};
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};

use burn::module::{Module as _, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor, TensorData};

use crate::error::{Error, Result};
use crate::nn::Model;
use crate::peers::{Peers, to_host};

/// The least count of numbers in a bucket; only the last bucket may be smaller. A smaller sum costs more latency than it hides.
const BUCKET_LENGTH: usize = 1 << 20;

/// A network, and the device on which its gradients are summed.
#[derive(Clone, Copy)]
pub(super) struct Replica<'m> {
    pub(super) model: &'m Model,
    pub(super) device: &'m Device,
}

/// Collects the gradients of this process, and sends each bucket to the summing thread as soon as it is complete.
pub(super) struct GradientReducer<'m> {
    replica: Replica<'m>,
    /// The gradients of this process that have not been sent.
    gradients: Vec<GradientsParams>,
    /// The buckets that have not been sent.
    remaining: &'m [Bucket],
    /// Number of sections whose gradients are complete.
    complete_sections: usize,
    thread: Sender<Option<FlatGradients>>,
}

/// Parameters whose gradients are summed together.
#[derive(Debug, Default)]
struct Bucket {
    parameters: HashSet<ParamId>,
    /// The count of numbers in these parameters.
    length: usize,
    /// The bucket can be summed once the gradients of this many sections are complete, counted from the last section.
    ready_after: usize,
}

/// The gradients of a bucket as one vector, in the order of the network's parameters.
struct FlatGradients {
    /// For each parameter 1 if it has a gradient, else 0.
    mask: Vec<f32>,
    gradients: Tensor<1>,
}

/// Sums the gradients over all processes while `work` computes those of this one. Returns the sums on the device of the replica.
///
/// # Errors
/// An error of `work`, which the other processes see as [`Error::PeerFailed`]; a peer cannot be reached, or the device failed.
pub(super) fn all_reduce_during(
    replica: Replica<'_>,
    peers: &dyn Peers,
    work: impl FnOnce(&mut GradientReducer) -> Result<()>,
) -> Result<GradientsParams> {
    let buckets = buckets(replica.model);
    let (thread, received) = channel();
    let mut gradients =
        GradientReducer { replica, gradients: Vec::new(), remaining: &buckets, complete_sections: 0, thread };
    let values = thread::scope(|scope| {
        let reducer = match spawn_reducer(scope, (&buckets, received), peers) {
            Ok(reducer) => reducer,
            Err(error) => {
                buckets.iter().try_for_each(|bucket| peers.sum_in_background(&mut bucket.failure_mark()))?;
                return Err(Error::Peers { reason: format!("no thread can sum gradients: {error}") });
            }
        };
        let worked = work(&mut gradients);
        gradients.finish(worked.is_ok());
        let values = reducer.join().unwrap_or_else(|panic| resume_unwind(panic));
        worked.and(values)
    })?;
    unflatten(replica, &buckets, values)
}

/// Sums gradients that are already complete over all processes, on the calling thread.
///
/// # Errors
/// A peer cannot be reached, or the device failed.
pub(super) fn all_reduce(
    replica: Replica<'_>,
    peers: &dyn Peers,
    gradients: GradientsParams,
) -> Result<GradientsParams> {
    let mut bucket = Bucket::default();
    bucket.take(trained(replica.model));
    if bucket.parameters.is_empty() {
        return Ok(gradients);
    }
    let mut values = FlatGradients::of(replica, &bucket, &mut [gradients]).into_host()?;
    peers.sum(&mut values)?;
    unflatten(replica, &[bucket], vec![values])
}

/// Starts the thread that sums the buckets in order of arrival. `None` in place of a bucket tells the others that this process failed.
fn spawn_reducer<'s>(
    scope: &'s Scope<'s, '_>,
    (buckets, received): (&'s [Bucket], Receiver<Option<FlatGradients>>),
    peers: &'s dyn Peers,
) -> io::Result<ScopedJoinHandle<'s, Result<Vec<Vec<f32>>>>> {
    let work = move || {
        let mut failure = Ok(());
        let mut sum = |(flat, bucket): (Option<FlatGradients>, &Bucket)| {
            let own = flat.map_or_else(|| Ok(bucket.failure_mark()), FlatGradients::into_host);
            let mut values = own.unwrap_or_else(|error| {
                failure = Err(error);
                bucket.failure_mark()
            });
            peers.sum_in_background(&mut values).map(|()| values)
        };
        let values = received.into_iter().zip(buckets).map(&mut sum).collect::<Result<_>>()?;
        failure.map(|()| values)
    };
    thread::Builder::new().name("sums of gradients".into()).spawn_scoped(scope, work)
}

impl GradientReducer<'_> {
    /// Adds the complete gradients of one or more chunks.
    pub(super) fn add(&mut self, gradients: GradientsParams) {
        self.gradients.push(gradients.to_device(self.replica.device, self.replica.model));
    }

    /// Adds the gradients of a section from the last chunk of this process, and sends the buckets that this completes.
    pub(super) fn add_section(&mut self, gradients: GradientsParams) {
        self.add(gradients);
        self.complete_sections += 1;
        let complete = self.complete_sections;
        while let Some((bucket, remaining)) =
            self.remaining.split_first().filter(|(next, _)| next.ready_after <= complete)
        {
            self.remaining = remaining;
            self.send(bucket);
        }
    }

    /// Sends the remaining buckets. If this process failed, it sends a mark of the failure for each of them instead.
    fn finish(mut self, is_ok: bool) {
        for bucket in self.remaining {
            if is_ok { self.send(bucket) } else { drop(self.thread.send(None)) }
        }
    }

    fn send(&mut self, bucket: &Bucket) {
        // Sending fails only if the thread has ended with an error; joining it returns that error.
        drop(self.thread.send(Some(FlatGradients::of(self.replica, bucket, &mut self.gradients))));
    }
}

/// The buckets of a network in the order of a backward pass.
fn buckets(model: &Model) -> Vec<Bucket> {
    let mut trained: HashMap<ParamId, usize> = trained(model).collect();
    let (mut buckets, mut bucket) = (Vec::new(), Bucket::default());
    for (sections_after, section) in model.sections().iter().rev().enumerate() {
        bucket.ready_after = sections_after + 1;
        bucket.take(section.parameters().iter().filter_map(|id| trained.remove_entry(id)));
        if bucket.length >= BUCKET_LENGTH {
            buckets.push(std::mem::take(&mut bucket));
        }
    }
    bucket.take(trained.into_iter());
    // This last bucket is sent at the end, because some sections may have no gradients.
    buckets.extend((!bucket.parameters.is_empty()).then_some(bucket));
    buckets
}

/// The trained parameters, each with its number of elements.
fn trained(model: &Model) -> impl Iterator<Item = (ParamId, usize)> {
    struct TrainedParameters(Vec<(ParamId, usize)>);
    impl ModuleVisitor for TrainedParameters {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let value = param.val();
            if value.is_require_grad() {
                self.0.push((param.id, value.shape().num_elements()));
            }
        }
    }
    let mut trained = TrainedParameters(Vec::new());
    model.visit(&mut trained);
    trained.0.into_iter()
}

impl Bucket {
    fn take(&mut self, parameters: impl Iterator<Item = (ParamId, usize)>) {
        for (id, length) in parameters {
            self.parameters.insert(id);
            self.length += length;
        }
    }

    /// The numbers that a process which failed adds to the sum: NaN, which the others recognise.
    fn failure_mark(&self) -> Vec<f32> {
        vec![f32::NAN; self.parameters.len() + self.length]
    }
}

impl FlatGradients {
    /// Sums the gradients of a bucket over the chunks, and removes them from `gradients`.
    fn of(
        Replica { model, device }: Replica<'_>,
        bucket: &Bucket,
        gradients: &mut [GradientsParams],
    ) -> Self {
        let mut flatten = Flatten { bucket, device, gradients, mask: Vec::new(), parts: Vec::new() };
        model.visit(&mut flatten);
        let Flatten { mask, parts, .. } = flatten;
        Self { mask, gradients: Tensor::cat(parts, 0) }
    }

    /// The numbers of the bucket on the host: for each parameter whether it has a gradient, then the gradients.
    fn into_host(self) -> Result<Vec<f32>> {
        let Self { mask: mut values, gradients } = self;
        values.extend(to_host(gradients)?);
        Ok(values)
    }
}

/// Visits a network to build a [`FlatGradients`].
struct Flatten<'g> {
    bucket: &'g Bucket,
    device: &'g Device,
    gradients: &'g mut [GradientsParams],
    mask: Vec<f32>,
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for Flatten<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !self.bucket.parameters.contains(&param.id) {
            return;
        }
        let gradients = self.gradients.iter_mut().filter_map(|gradients| gradients.remove::<D>(param.id));
        let gradient = gradients.reduce(|sum, gradient| sum + gradient);
        let count = param.val().shape().num_elements();
        self.mask.push(f32::from(u8::from(gradient.is_some())));
        self.parts.push(match gradient {
            Some(gradient) => gradient.reshape([count]).cast(DType::F32),
            None => Tensor::zeros([count], (self.device, DType::F32)),
        });
    }
}

/// The gradients of the parameters, from the summed numbers of all buckets.
///
/// # Errors
/// A process failed.
fn unflatten(
    Replica { model, device }: Replica<'_>,
    buckets: &[Bucket],
    values: Vec<Vec<f32>>,
) -> Result<GradientsParams> {
    let mut gradients = GradientsParams::new();
    for (bucket, mut values) in buckets.iter().zip(values) {
        let sums = values.split_off(bucket.parameters.len());
        if values.iter().any(|value| value.is_nan()) {
            return Err(Error::PeerFailed);
        }
        let sums = Tensor::from_data(TensorData::new(sums, [bucket.length]), (device, DType::F32));
        let mut unflatten = Unflatten { bucket, sums, mask: values.into_iter(), start: 0, device, gradients };
        model.visit(&mut unflatten);
        gradients = unflatten.gradients;
    }
    Ok(gradients)
}

/// Visits a network to register the gradients of one bucket. A parameter has a gradient if it has one in any process.
struct Unflatten<'g> {
    bucket: &'g Bucket,
    sums: Tensor<1>,
    mask: std::vec::IntoIter<f32>,
    start: usize,
    device: &'g Device,
    gradients: GradientsParams,
}

impl ModuleVisitor for Unflatten<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if !self.bucket.parameters.contains(&param.id) {
            return;
        }
        let value = param.val();
        let rows = self.start..self.start + value.shape().num_elements();
        self.start = rows.end;
        if self.mask.next().is_some_and(|count| count > 0.0) {
            let gradient = self.sums.clone().slice([rows]).reshape(value.dims()).cast(value.dtype());
            self.gradients.register::<D>(param.id, gradient.to_device(self.device));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::super::GradCache;
    use super::*;
    use crate::algorithm::testing::rng;
    use crate::algorithm::{Algorithm as _, ModelConfig, Views};
    use crate::loss::NtXent;
    use crate::loss::batch::Batch;
    use crate::nn::head::{HeadConfig, HeadKind};
    use crate::nn::resnet::Stem;
    use crate::nn::{Architecture, EncoderConfig};
    use crate::optim::{Optimizer, OptimizerConfig};
    use crate::peers::threads::together;
    use crate::step_stage::StepStage;

    fn residual() -> ModelConfig {
        ModelConfig {
            encoder: EncoderConfig {
                name: Architecture::ResNet18,
                input_size: 8,
                stem: Some(Stem::Cifar),
                ..EncoderConfig::default()
            },
            head: HeadConfig { hidden: Some(16), output: 8, ..HeadConfig::default() },
            ..ModelConfig::default()
        }
    }

    fn model() -> Model {
        residual().init(&Device::flex(), &mut rng(1)).unwrap()
    }

    /// An event of a process; the log keeps them in order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Happened {
        BackwardBegan,
        BackwardEnded,
        SumBegan,
    }

    #[derive(Debug, Default)]
    struct Log {
        events: Mutex<Vec<Happened>>,
        changed: Condvar,
    }

    impl Log {
        fn push(&self, event: Happened) {
            self.events.lock().unwrap().push(event);
            self.changed.notify_all();
        }

        fn count(&self, of: Happened) -> usize {
            self.events.lock().unwrap().iter().filter(|event| **event == of).count()
        }

        /// Waits for a sum to begin, at most a minute, because a process that sums only after its backward pass begins none.
        fn await_sum(&self) {
            let none = |events: &mut Vec<Happened>| !events.contains(&Happened::SumBegan);
            let events = self.events.lock().unwrap();
            drop(self.changed.wait_timeout_while(events, Duration::from_secs(60), none).unwrap());
        }
    }

    /// Peers that log when a sum on the thread begins.
    #[derive(Debug)]
    struct Noted(Arc<dyn Peers>, Arc<Log>);

    impl Peers for Noted {
        fn rank(&self) -> usize {
            self.0.rank()
        }

        fn count(&self) -> usize {
            self.0.count()
        }

        fn all_gather(&self, own: &[f32], counts: &[usize]) -> Result<Vec<f32>> {
            self.0.all_gather(own, counts)
        }

        fn sum(&self, values: &mut [f32]) -> Result<()> {
            self.0.sum(values)
        }

        fn sum_in_background(&self, values: &mut [f32]) -> Result<()> {
            self.1.push(Happened::SumBegan);
            self.0.sum(values)
        }

        fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<()> {
            self.0.broadcast(bytes)
        }
    }

    /// Logs the backward passes. The last one, whose number is given, waits until a sum has begun.
    struct Listener(Arc<Log>, usize);

    impl Subscriber for Listener {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.name() == StepStage::Backward.name()
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {
            self.0.push(Happened::BackwardBegan);
            if self.0.count(Happened::BackwardBegan) == self.1 {
                self.0.await_sum();
            }
        }

        fn exit(&self, _: &Id) {
            self.0.push(Happened::BackwardEnded);
        }
    }

    /// Each of two processes has two chunks: the first has one backward pass, the other has one for each section.
    #[test]
    fn a_bucket_is_summed_while_earlier_sections_are_differentiated() {
        let sections = model().sections().len();
        let work = |peers: Arc<dyn Peers>| {
            let log = Arc::new(Log::default());
            let mut cached =
                GradCache::new(&residual(), Box::new(NtXent::default()), 2, &Device::flex(), &mut rng(1))
                    .unwrap();
            cached.use_peers(Arc::new(Noted(peers, log.clone()))).unwrap();
            let values: Vec<f32> = (0..4 * 3 * 64).map(|i| (i as f32 * 0.37).sin()).collect();
            let images =
                Tensor::<4>::from_data(TensorData::new(values, [4, 3, 8, 8]), (&Device::flex(), DType::F32));
            let views = Views::new(images.clone(), images * 0.5).unwrap().out_of(8);
            let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap();
            tracing::subscriber::with_default(Listener(log.clone(), 1 + sections), || {
                let loss = cached.loss(&views, Batch::default()).unwrap();
                cached.descend(loss, &mut optimizer, 1e-3).unwrap();
            });
            log.events.lock().unwrap().clone()
        };
        let of_ranks = together(2, work);
        assert_eq!(of_ranks.len(), 2, "a process failed");
        for events in of_ranks {
            let of = |wanted| events.iter().filter(|event| **event == wanted).count();
            assert_eq!(of(Happened::BackwardEnded), 1 + sections, "{events:?}");
            assert!(of(Happened::SumBegan) > 2, "{events:?}");
            let first = events.iter().position(|event| *event == Happened::SumBegan).unwrap();
            let last = events.iter().rposition(|event| *event == Happened::BackwardEnded).unwrap();
            // The head and at least one block come first.
            let before = events[..first].iter().filter(|event| **event == Happened::BackwardEnded).count();
            assert!(first < last && before > 2, "{events:?}");
        }
    }

    #[test]
    fn buckets_are_sections_joined_until_they_are_long() {
        let mut of_50 = residual();
        of_50.encoder.name = Architecture::ResNet50;
        of_50.head = HeadConfig { kind: HeadKind::Mlp, hidden: Some(2048), output: 128 };
        // Of 18 layers: the fourth stage, whose last block comes with the head, the third, whose first block comes with one of the
        // second, and the rest. Of 50: the head, three blocks, six blocks, the second stage, and the rest, 0.2 million numbers.
        for (network, expected) in [(residual(), 5), (of_50, 12)] {
            let model = network.init(&Device::flex(), &mut rng(1)).unwrap();
            let buckets = buckets(&model);
            assert_eq!(buckets.len(), expected);
            let (rest, long) = buckets.split_last().unwrap();
            assert!(long.iter().all(|bucket| bucket.length >= BUCKET_LENGTH));
            assert!(expected == 5 || (200_000..250_000).contains(&rest.length), "{}", rest.length);
            let all: HashMap<ParamId, usize> = trained(&model).collect();
            let parameters: Vec<ParamId> =
                buckets.iter().flat_map(|bucket| bucket.parameters.clone()).collect();
            assert_eq!(parameters.len(), all.len());
            assert!(parameters.iter().all(|id| all.contains_key(id)));
            let lengths = buckets.iter().map(|bucket| bucket.length);
            assert_eq!(lengths.sum::<usize>(), all.values().sum::<usize>());
        }
    }

    /// The others learn of the failure at the end of the step; then all processes can still agree how to go on.
    #[test]
    fn one_that_fails_in_the_middle_leaves_the_step_with_all_others() {
        let failed = || Error::Degenerate { reason: "a test".into(), remedy: "none".into() };
        let work = |peers: Arc<dyn Peers>| {
            let (model, rank) = (model(), peers.rank());
            let sections = model.sections().len();
            let replica = Replica { model: &model, device: &Device::flex() };
            let gradients = all_reduce_during(replica, peers.as_ref(), |sums| {
                for section in 0..sections {
                    if rank == 1 && section == sections / 2 {
                        return Err(failed());
                    }
                    sums.add_section(GradientsParams::new());
                }
                Ok(())
            });
            let mut ranks = [rank as f32];
            peers.sum(&mut ranks).unwrap();
            (gradients.map(|gradients| gradients.len()), ranks)
        };
        let all = together(3, work);
        let others = || (Err(Error::PeerFailed), [3.0]);
        assert_eq!(all, [others(), (Err(failed()), [3.0]), others()]);
    }

    #[test]
    fn a_lost_peer_is_an_error_of_the_step() {
        #[derive(Debug)]
        struct Lost(Mutex<usize>);
        impl Peers for Lost {
            fn rank(&self) -> usize {
                0
            }
            fn count(&self) -> usize {
                2
            }
            fn all_gather(&self, own: &[f32], _: &[usize]) -> Result<Vec<f32>> {
                Ok(own.to_vec())
            }
            fn sum(&self, _: &mut [f32]) -> Result<()> {
                let mut left = self.0.lock().unwrap();
                *left = left.checked_sub(1).ok_or_else(|| Error::Peers { reason: "a cable".into() })?;
                Ok(())
            }
            fn broadcast(&self, _: &mut Vec<u8>) -> Result<()> {
                Ok(())
            }
        }
        let (model, device) = (model(), Device::flex());
        let replica = Replica { model: &model, device: &device };
        for sums in 0..6 {
            let gradients = all_reduce_during(replica, &Lost(Mutex::new(sums)), |sums| {
                model.sections().iter().for_each(|_| sums.add_section(GradientsParams::new()));
                Ok(())
            });
            let lost = Error::Peers { reason: "a cable".into() };
            assert_eq!(gradients.map(|gradients| gradients.len()), if sums < 5 { Err(lost) } else { Ok(0) });
        }
    }
}
