//! Computes a batch in chunks, but normalises them by the statistics of the whole batch, so that the result equals one pass.
//!
//! A batch norm couples all samples, forward and backward. With the mean `μ` and the variance `v` of its inputs `x` over the
//! `N` positions of all chunks, the gradient of a loss is
//!
//! ```text
//! dL/dx_i = (dL/dx_i with μ and v fixed) + dL/dμ / N + dL/dv 2 (x_i - μ) / N
//! ```
//!
//! where `dL/dμ` and `dL/dv` are sums over all chunks. So all chunks take one step of the network before any takes the next.
//! Forward, every chunk reaches the input of a norm before its statistics are computed. Backward, each chunk is differentiated
//! with `μ` and `v` as variables, and the terms of `dL/dμ` and `dL/dv` are added once every chunk has been differentiated.
//!
//! The activations of the batch are kept between segments, such as residual blocks, and computed again within one. For ResNet-50 at
//! 224 pixels this keeps 5.9 million numbers an image, where one pass of the batch keeps 21.3 million, and chunks with their own
//! statistics keep only the images. The network goes forward three times and backward once; chunks with their own statistics go
//! forward twice.
//!
//! If the chunks lie in several processes, every sum over chunks is also taken over processes, so that the statistics and their
//! gradients are those of the whole batch. The gradients of the parameters are summed over processes after the backward pass,
//! because that pass makes sums of its own, and processes can make only one sum at a time.

mod statistics;

use std::sync::Arc;

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Gradients, Tensor};

use self::statistics::{
    BatchMoments, add_statistics, add_statistics_terms, gradient_of, map_statistics, moments_of, on_device,
    sum_over_processes,
};
use super::chunk_outputs::ChunkOutputs;
use crate::algorithm::Views;
use crate::algorithm::passes::halves;
use crate::error::{Error, Result};
use crate::nn::{Flow, Model, Moments, Segment, Step};
use crate::peers::Peers;
use crate::step_stage::StepStage;

/// The forward passes of a batch, without a graph, and the networks that computed them.
#[derive(Debug)]
pub(super) struct WholeBatch {
    /// A copy of the network on every device; chunk `i` uses copy `i mod devices`.
    models: Vec<Model>,
    /// One pass of both views together, or one pass for each view.
    passes: Vec<Pass>,
    peers: Arc<dyn Peers>,
}

/// The numbers that the backward pass needs from a forward pass.
#[derive(Debug)]
struct Pass {
    /// The inputs of each segment, chunk by chunk.
    starts: Vec<Vec<Flow>>,
    /// The statistics of each step of each segment.
    moments: Vec<Vec<BatchMoments>>,
}

/// Segments of an encoder and of its head on every device.
struct ModelSegments<'m> {
    segments: Vec<Vec<Segment<'m>>>,
    /// Number of segments of the encoder.
    encoder_count: usize,
}

/// Checks that an encoder can be divided into steps.
///
/// # Errors
/// The encoder has no division into steps.
pub(super) fn check(model: &Model) -> Result<()> {
    ModelSegments::of(std::slice::from_ref(model)).map(drop)
}

impl<'m> ModelSegments<'m> {
    fn of(models: &'m [Model]) -> Result<Self> {
        let refused = || {
            let expected = "expected `chunk`: the layers of this encoder are not divided into steps";
            Error::parameter("method.statistics", "batch", expected)
        };
        let mut encoder_count = 0;
        let segments_of = |model: &'m Model| {
            let mut segments = model.encoder.segments().ok_or_else(refused)?;
            encoder_count = segments.len();
            segments.push(model.head.segment());
            Ok(segments)
        };
        let segments = models.iter().map(segments_of).collect::<Result<_>>()?;
        Ok(Self { segments, encoder_count })
    }

    /// Number of steps of each segment.
    fn lengths(&self) -> Vec<usize> {
        self.segments.first().map(|segments| segments.iter().map(Vec::len).collect()).unwrap_or_default()
    }

    /// A step of a segment, in the copy of the network on the chunk's device.
    fn step(&self, chunk: usize, (segment, step): (usize, usize)) -> &Step<'m> {
        &self.segments[chunk % self.segments.len()][segment][step]
    }

    /// Takes one step with all chunks, without a graph.
    fn forward(&self, flows: Vec<Flow>, at: (usize, usize), moments: &Moments) -> Vec<Flow> {
        let step = |(chunk, flow): (usize, Flow)| {
            let moments = on_device(moments, &flow.maps.device());
            let moments = moments
                .map(|statistics| statistics.map(|statistics| map_statistics(statistics, Tensor::autodiff)));
            self.step(chunk, at).forward(flow.map(Tensor::autodiff), &moments).map(Tensor::without_autodiff)
        };
        flows.into_iter().enumerate().map(step).collect()
    }
}

impl WholeBatch {
    /// Computes the outputs of the chunks of this process, with both views in one pass or apart, by the copies of the network on
    /// all devices. It updates the running statistics of the first copy.
    ///
    /// # Errors
    /// The network cannot be divided into steps, or a peer cannot be reached.
    pub(super) fn forward(
        copies: Vec<(Model, Device)>,
        (chunks, are_apart): (Vec<Views>, bool),
        peers: Arc<dyn Peers>,
    ) -> Result<(Self, ChunkOutputs)> {
        let _span = StepStage::Forward.enter();
        let (models, devices): (Vec<Model>, Vec<Device>) = copies.into_iter().unzip();
        let (passes, outputs) = {
            let model_segments = ModelSegments::of(&models)?;
            forward_passes(&model_segments, (chunks, are_apart), &devices, peers.as_ref())?
        };
        Ok((Self { models, passes, peers }, outputs))
    }

    /// Computes the gradients of the parameters on every device from the gradients of the projections of each view.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub(super) fn gradients(self, grad_views: &[Option<Tensor<2>>; 2]) -> Result<Vec<GradientsParams>> {
        let _span = StepStage::Backward.enter();
        let Self { models, passes, peers } = self;
        let model_segments = ModelSegments::of(&models)?;
        let mut grad_copies: Vec<CopyGradients> = models.iter().map(CopyGradients::new).collect();
        let is_apart = passes.len() > 1;
        let zeros = grad_views.iter().flatten().next().map(Tensor::zeros_like);
        let grad_views =
            grad_views.iter().filter_map(|grad_view| grad_view.clone().or_else(|| zeros.clone()));
        let grad_views = grad_views.collect::<Vec<Tensor<2>>>();
        for (pass, grad_view) in passes.into_iter().zip(&grad_views) {
            let views = if is_apart { std::slice::from_ref(grad_view) } else { grad_views.as_slice() };
            let mut start = 0;
            let grad_chunk = |end: &Flow| {
                let samples = end.maps.dims()[0] / views.len();
                let rows = start..start + samples;
                start += samples;
                let parts = views.iter().map(|view| view.clone().slice([rows.clone()])).collect();
                Flow::from_rows(Tensor::cat(parts, 0).to_device(&end.maps.device()))
            };
            let ends = pass.starts.last().map(|ends| ends.iter().map(grad_chunk).collect());
            pass.backward(&model_segments, &mut grad_copies, ends.unwrap_or_default(), peers.as_ref())?;
        }
        Ok(grad_copies.into_iter().map(|mut copy| copy.accumulator.grads()).collect())
    }
}

/// The passes of the chunks, distributed over the devices in turn, and their outputs: one pass of both views, or one for each view.
fn forward_passes(
    model_segments: &ModelSegments,
    (chunks, are_apart): (Vec<Views>, bool),
    devices: &[Device],
    peers: &dyn Peers,
) -> Result<(Vec<Pass>, ChunkOutputs)> {
    let flows = |images: &dyn Fn(&Views) -> Tensor<4>| -> Vec<Flow> {
        let on_devices = chunks.iter().zip(devices.iter().cycle());
        on_devices.map(|(views, device)| images(views).without_autodiff().to_device(device).into()).collect()
    };
    let batches = match are_apart {
        true => vec![flows(&|views| views.a.clone()), flows(&|views| views.b.clone())],
        false => vec![flows(&Views::both)],
    };
    let (mut passes, mut embeddings, mut projections) = (Vec::new(), Vec::new(), Vec::new());
    for batch in batches {
        let (pass, ends) = Pass::of(model_segments, batch, peers)?;
        embeddings.push(pass.starts.get(model_segments.encoder_count).cloned().unwrap_or_default());
        projections.push(ends);
        passes.push(pass);
    }
    Ok((passes, ChunkOutputs { embeddings: by_view(embeddings), projections: by_view(projections) }))
}

/// The gradients of the parameters from the chunks of one copy of the network.
struct CopyGradients<'m> {
    model: &'m Model,
    accumulator: GradientsAccumulator<Model>,
}

impl<'m> CopyGradients<'m> {
    fn new(model: &'m Model) -> Self {
        Self { model, accumulator: GradientsAccumulator::new() }
    }
}

impl Pass {
    /// The passes of chunks, with their outputs.
    fn of(
        model_segments: &ModelSegments,
        mut flows: Vec<Flow>,
        peers: &dyn Peers,
    ) -> Result<(Self, Vec<Flow>)> {
        let (mut starts, mut moments) = (Vec::new(), Vec::new());
        for (segment, steps) in model_segments.lengths().into_iter().enumerate() {
            starts.push(flows.clone());
            let mut by_step = Vec::new();
            for at in (0..steps).map(|step| (segment, step)) {
                let step_moments = moments_of(model_segments.step(0, at), &flows, peers)?;
                flows = model_segments.forward(flows, at, &step_moments.moments);
                by_step.push(step_moments);
            }
            moments.push(by_step);
        }
        Ok((Self { starts, moments }, flows))
    }

    /// Adds the gradients of the parameters that follow from those of the outputs, and frees the stored activations as it goes.
    fn backward(
        self,
        model_segments: &ModelSegments,
        grad_copies: &mut [CopyGradients],
        mut upstream: Vec<Flow>,
        peers: &dyn Peers,
    ) -> Result<()> {
        let segments = self.starts.into_iter().zip(self.moments).enumerate();
        for (segment, (start, moments)) in segments.rev() {
            let mut inputs = vec![start];
            for (step, step_moments) in moments.iter().enumerate().take(moments.len().saturating_sub(1)) {
                let flows = inputs.last().cloned().unwrap_or_default();
                inputs.push(model_segments.forward(flows, (segment, step), &step_moments.moments));
            }
            for ((step, step_moments), flows) in moments.iter().enumerate().zip(inputs).rev() {
                let grad_outputs = Upstream { grad_outputs: upstream, peers };
                upstream = pull_back(
                    model_segments,
                    (segment, step),
                    (flows, step_moments),
                    grad_outputs,
                    grad_copies,
                )?;
            }
        }
        Ok(())
    }
}

/// The gradients of the outputs of a step for the chunks of this process, and the peers with the other chunks.
struct Upstream<'p> {
    grad_outputs: Vec<Flow>,
    peers: &'p dyn Peers,
}

/// Computes the gradients of the inputs of a step from those of its outputs, and adds those of its parameters to `grad_copies`. The
/// inputs of the first step are images, which have no gradient.
fn pull_back(
    model_segments: &ModelSegments,
    at: (usize, usize),
    (flows, BatchMoments { moments, counts }): (Vec<Flow>, &BatchMoments),
    Upstream { grad_outputs, peers }: Upstream,
    grad_copies: &mut [CopyGradients],
) -> Result<Vec<Flow>> {
    let leaf =
        |tensor: Tensor<4>| if at == (0, 0) { tensor.autodiff() } else { tensor.autodiff().require_grad() };
    let (mut grad_inputs, mut grad_moments) = (Vec::new(), [None, None]);
    for (chunk, (flow, upstream)) in flows.iter().zip(grad_outputs).enumerate() {
        let inputs = flow.clone().map(leaf);
        let variables = on_device(moments, &flow.maps.device()).map(|statistics| {
            statistics
                .map(|statistics| map_statistics(statistics, |numbers| numbers.autodiff().require_grad()))
        });
        let outputs = model_segments.step(chunk, at).forward(inputs.clone(), &variables);
        let Some(mut gradients) = differentiate(outputs, upstream) else { continue };
        let device = chunk % grad_copies.len().max(1);
        if let Some(CopyGradients { model, accumulator }) = grad_copies.get_mut(device) {
            accumulator.accumulate(model, GradientsParams::from_module(&mut gradients, *model));
        }
        for (sum, variables) in grad_moments.iter_mut().zip(variables) {
            let Some(gradient) = variables.map(|variables| gradient_of(variables, &mut gradients)) else {
                continue;
            };
            *sum = Some(match sum.take() {
                Some(sum) => add_statistics(sum, gradient),
                None => gradient,
            });
        }
        grad_inputs.push(inputs.map(|input| match input.grad_remove(&mut gradients) {
            Some(gradient) => gradient,
            None => input.without_autodiff().zeros_like(),
        }));
    }
    let grad_moments = sum_over_processes(grad_moments, moments, peers)?;
    let complete = |(inputs, gradient): (&Flow, Flow)| {
        through_statistics(gradient, inputs, (moments, &grad_moments), counts)
    };
    Ok(flows.iter().zip(grad_inputs).map(complete).collect())
}

/// The gradients of a chunk's part in the loss, from those of its outputs; `None` if the outputs depend on nothing that has one.
fn differentiate(outputs: Flow, upstream: Flow) -> Option<Gradients> {
    let product = |output: Tensor<4>, gradient: Tensor<4>| (output * gradient.autodiff()).sum();
    let mut loss = product(outputs.maps, upstream.maps);
    if let (Some(output), Some(gradient)) = (outputs.branch, upstream.branch) {
        loss = loss + product(output, gradient);
    }
    loss.is_tracked().then(|| loss.backward())
}

/// The gradient of a chunk's inputs with the terms that come through the statistics of all chunks.
fn through_statistics(
    gradient: Flow,
    inputs: &Flow,
    (moments, grad_moments): (&Moments, &Moments),
    counts: &[usize; 2],
) -> Flow {
    let device = inputs.maps.device();
    let [grad_maps, grad_branch] = on_device(grad_moments, &device);
    let [maps, branch] = on_device(moments, &device);
    Flow {
        maps: add_statistics_terms(gradient.maps, &inputs.maps, maps.zip(grad_maps), counts[0]),
        branch: gradient.branch.zip(inputs.branch.as_ref()).map(|(gradient, input)| {
            add_statistics_terms(gradient, input, branch.zip(grad_branch), counts[1])
        }),
    }
}

/// The rows of each view, from the chunks of one pass of both views or of one pass for each view.
fn by_view(passes: Vec<Vec<Flow>>) -> [Vec<Tensor<2>>; 2] {
    match <[Vec<Flow>; 2]>::try_from(passes) {
        Ok(views) => views.map(|flows| flows.into_iter().map(Flow::rows).collect()),
        Err(both) => {
            let halves_of = |flow: Flow| {
                let [a, b] = halves(flow.rows());
                (a, b)
            };
            let (a, b) = both.into_iter().flatten().map(halves_of).unzip();
            [a, b]
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::module::{Module, ModuleMapper, Param};
    use burn::tensor::{DType, TensorData};
    use rand::RngExt as _;

    use super::super::testing::{numbers, parameter_gradients, running_statistics};
    use super::*;
    use crate::algorithm::testing::rng;
    use crate::algorithm::{ModelConfig, passes};
    use crate::nn::head::{HeadConfig, HeadKind};
    use crate::nn::resnet::Stem;
    use crate::nn::{Architecture, EncoderConfig};
    use crate::peers::Alone;

    /// Parameters and running statistics in `f64`.
    struct InDouble;

    impl ModuleMapper for InDouble {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            Param::from_tensor(param.val().without_autodiff().cast(DType::F64).autodiff())
        }
    }

    fn model(encoder: &EncoderConfig, head: HeadKind) -> Model {
        let head = HeadConfig { kind: head, hidden: Some(7), output: 5 };
        let network = ModelConfig { encoder: encoder.clone(), head, ..ModelConfig::default() };
        network.init(&Device::flex(), &mut rng(1)).unwrap().map(&mut InDouble)
    }

    fn images(samples: usize, side: usize, seed: u64) -> Tensor<4> {
        let mut rng = rng(seed);
        let values: Vec<f64> = (0..samples * 3 * side * side).map(|_| rng.random_range(-1.0..1.0)).collect();
        Tensor::from_data(TensorData::new(values, [samples, 3, side, side]), (&Device::flex(), DType::F64))
    }

    /// Two views that differ in brightness, so that their statistics differ.
    fn views(samples: usize, side: usize, apart: bool) -> Views {
        let [a, b] = [images(samples, side, 2), images(samples, side, 3) * 0.5 + 0.7];
        Views::new(a, b).unwrap().with_per_view_batch_norm(apart)
    }

    /// The gradient of a loss with respect to projections.
    fn grad_projections(projections: &Tensor<2>, seed: u64) -> Tensor<2> {
        let (mut rng, [n, width]) = (rng(seed), projections.dims());
        let values: Vec<f64> = (0..n * width).map(|_| rng.random_range(-1.0..1.0)).collect();
        Tensor::from_data(TensorData::new(values, [n, width]), (&Device::flex(), DType::F64))
    }

    /// Projections, gradients and running statistics of a step.
    type Outcome = [Vec<Vec<f64>>; 3];

    fn outcome(model: &Model, projections: Vec<Vec<f64>>, gradients: GradientsParams) -> Outcome {
        [projections, parameter_gradients(model, &[gradients]), running_statistics(model)]
    }

    fn in_one_pass(model: &Model, views: &Views) -> Outcome {
        let [a, b] = passes::embed(model, views).project(model).split();
        let projections = [a.clone(), b.clone()].map(numbers).to_vec();
        let gradients = [grad_projections(&a, 4), grad_projections(&b, 5)].map(Tensor::autodiff);
        let [grad_a, grad_b] = gradients;
        let gradients = passes::gradients(model, (a * grad_a).sum() + (b * grad_b).sum()).unwrap();
        outcome(model, projections, gradients)
    }

    fn in_chunks(model: &Model, views: &Views, (chunk, devices): (usize, usize)) -> Outcome {
        let device = Device::flex();
        let helper = |_| (model.valid().train().fork(&device.clone().autodiff()), device.clone());
        let copies = std::iter::once((model.clone(), device.clone())).chain((1..devices).map(helper));
        let chunks = (views.chunks(chunk), views.per_view_batch_norm);
        let (passes, outputs) = WholeBatch::forward(copies.collect(), chunks, Arc::new(Alone)).unwrap();
        let [a, b] = outputs.projections.map(|parts| Tensor::cat(parts, 0));
        let projections = [a.clone(), b.clone()].map(numbers).to_vec();
        let mut sum = GradientsAccumulator::new();
        for gradients in
            passes.gradients(&[Some(grad_projections(&a, 4)), Some(grad_projections(&b, 5))]).unwrap()
        {
            sum.accumulate(model, gradients);
        }
        outcome(model, projections, sum.grads())
    }

    /// The largest difference, relative to the largest number of its tensor. Gradients that are 0 up to rounding, as those of a
    /// bias before a batch norm, are compared absolutely.
    fn difference(outcome: &Outcome, expected: &Outcome) -> f64 {
        let mut worst: f64 = 0.0;
        for (tensors, expected) in outcome.iter().zip(expected) {
            assert_eq!(tensors.len(), expected.len());
            for (tensor, expected) in tensors.iter().zip(expected) {
                let largest = expected.iter().fold(1e-3_f64, |most, value| most.max(value.abs()));
                let off = tensor.iter().zip(expected).map(|(a, b)| (a - b).abs());
                worst = worst.max(off.fold(0.0, f64::max) / largest);
            }
        }
        worst
    }

    fn encoder(name: Architecture, input_size: usize, stem: Option<Stem>) -> EncoderConfig {
        EncoderConfig { name, input_size, stem, ..EncoderConfig::default() }
    }

    fn equals_one_pass(encoder: &EncoderConfig, head: HeadKind, samples: usize, ways: &[(usize, usize)]) {
        for apart in [false, true] {
            let views = views(samples, encoder.input_size, apart);
            let expected = in_one_pass(&model(encoder, head), &views);
            for &way in ways {
                let outcome = in_chunks(&model(encoder, head), &views, way);
                let worst = difference(&outcome, &expected);
                assert!(worst < 1e-9, "{} {head:?} {way:?}, apart: {apart}: {worst}", encoder.name.name());
            }
        }
    }

    #[test]
    fn chunks_of_a_plain_network_and_any_head_equal_one_pass() {
        let ways = [(1, 1), (2, 1), (3, 1), (9, 1), (2, 2), (1, 3)];
        let lenet = encoder(Architecture::LeNet5, 32, None);
        for head in [HeadKind::Released, HeadKind::MlpNormalised, HeadKind::MlpActivated, HeadKind::Linear] {
            equals_one_pass(&lenet, head, 5, &ways);
        }
        equals_one_pass(&encoder(Architecture::Mlp, 8, None), HeadKind::Mlp, 5, &ways);
    }

    #[test]
    fn chunks_of_a_convolutional_network_equal_one_pass() {
        // With 1×1 kernels the gradient of a bias in one pass is 0 up to rounding, because the bias cancels with the mean.
        equals_one_pass(
            &encoder(Architecture::SimpleConv, 8, None),
            HeadKind::Released,
            5,
            &[(1, 1), (2, 2), (4, 1)],
        );
    }

    #[test]
    fn chunks_of_residual_networks_equal_one_pass() {
        let residual = |name, side, stem| EncoderConfig { width: Some(8), ..encoder(name, side, Some(stem)) };
        let [of_18, of_50] = [Architecture::ResNet18, Architecture::ResNet50];
        equals_one_pass(&residual(of_18, 8, Stem::Cifar), HeadKind::Released, 4, &[(1, 1), (3, 1), (1, 3)]);
        equals_one_pass(&residual(of_18, 17, Stem::Imagenet), HeadKind::Mlp, 3, &[(2, 1)]);
        equals_one_pass(&residual(of_50, 8, Stem::Cifar), HeadKind::Mlp, 3, &[(2, 1)]);
    }

    #[test]
    fn a_network_that_cannot_be_taken_in_steps_is_refused() {
        let error =
            check(&model(&encoder(Architecture::Vae, 32, None), HeadKind::Mlp)).unwrap_err().to_string();
        assert!(error.contains("method.statistics") && error.contains("expected `chunk`"), "{error}");
        assert!(check(&model(&encoder(Architecture::ResNet18, 32, None), HeadKind::Mlp)).is_ok());
    }
}
