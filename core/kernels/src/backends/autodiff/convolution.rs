use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend as _, Backend, TensorMetadata as _};

use crate::ops::convolution::{
    Affine, ConvolutionOps, Joined, Kept, Moments, Optional, Windows, plain_convolve_normalised_by,
};

/// Passes each parent that needs one its gradient.
fn register<B: Backend>(
    parents: &[Option<NodeId>],
    gradients: impl IntoIterator<Item = Option<FloatTensor<B>>>,
    grads: &mut Gradients,
) {
    for (parent, gradient) in parents.iter().zip(gradients) {
        if let (Some(parent), Some(gradient)) = (parent, gradient) {
            grads.register::<B>(*parent, gradient);
        }
    }
}

/// The parents of a node that need a gradient.
fn wanted<const N: usize>(parents: &[Option<NodeId>]) -> [bool; N] {
    std::array::from_fn(|at| parents.get(at).is_some_and(Option::is_some))
}

#[derive(Debug)]
struct Convolve;

/// The parents are maps and weight, or maps, weight and bias.
impl<B: Backend + ConvolutionOps, const N: usize> Backward<B, N> for Convolve {
    type State = (FloatTensor<B>, FloatTensor<B>, Windows);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<B>(&ops.node);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        let (maps, weight, windows) = ops.state;
        let gradients = B::convolve_backward(maps, weight, upstream, windows, wanted(&parents));
        register::<B>(&parents, [gradients.0, gradients.1, gradients.2], grads);
    }
}

#[derive(Debug)]
struct ConvolveNormalised;

/// The parents are maps, weight, gain and shift, and the identity if there is one.
impl<B: Backend + ConvolutionOps, const N: usize> Backward<B, N> for ConvolveNormalised {
    type State = (Kept<B>, Joined);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<B>(&ops.node);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        let (context, joined) = ops.state;
        let gradients = B::convolve_normalised_backward(context, upstream, joined, wanted(&parents));
        register::<B>(&parents, [gradients.0, gradients.1, gradients.2, gradients.3, gradients.4], grads);
    }
}

#[derive(Debug)]
struct ConvolveTanhPool;

impl<B: Backend + ConvolutionOps> Backward<B, 3> for ConvolveTanhPool {
    /// Maps, weight and `tanh` output.
    type State = [FloatTensor<B>; 3];

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<B>(&ops.node);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        let [maps, weight, tanh] = ops.state;
        let gradients = B::convolve_tanh_pool_backward(maps, weight, tanh, upstream, wanted(&parents));
        register::<B>(&parents, [gradients.0, gradients.1, gradients.2], grads);
    }
}

#[derive(Debug)]
struct MaxPool;

impl<B: Backend + ConvolutionOps> Backward<B, 1> for MaxPool {
    type State = (FloatTensor<B>, IntTensor<B>, usize, Windows);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (maps, sources, side, windows) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |upstream| {
            B::max_pool_backward(maps, sources, upstream, side, windows)
        });
    }
}

#[derive(Debug)]
struct MeanPool;

impl<B: Backend + ConvolutionOps> Backward<B, 1> for MeanPool {
    type State = [usize; 2];

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        unary::<B, _>(ops.parents, ops.node, grads, |upstream| B::mean_pool_backward(upstream, ops.state));
    }
}

impl<B: Backend + ConvolutionOps, C: CheckpointStrategy> ConvolutionOps for Autodiff<B, C> {
    fn convolve(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Optional<Self>,
        windows: Windows,
    ) -> FloatTensor<Self> {
        let ((maps, maps_node), (weight, weight_node)) = (maps.into_parts(), weight.into_parts());
        let (bias, bias_node) = bias.into_option().map(FloatTensor::<Self>::into_parts).unzip();
        let output = B::convolve(maps.clone(), weight.clone(), Optional::of(bias), windows);
        let state = (maps, weight, windows);
        match bias_node {
            Some(bias_node) => {
                let nodes = [maps_node, weight_node, bias_node];
                match Backward::<B, 3>::prepare::<C>(Convolve, nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prepared) => prepared.finish(state, output),
                    OpsKind::UnTracked(prepared) => prepared.finish(output),
                }
            }
            None => {
                let nodes = [maps_node, weight_node];
                match Backward::<B, 2>::prepare::<C>(Convolve, nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prepared) => prepared.finish(state, output),
                    OpsKind::UnTracked(prepared) => prepared.finish(output),
                }
            }
        }
    }

    fn convolve_normalised(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        affine: Affine<Self>,
        identity: Optional<Self>,
        joined: Joined,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let ((maps, maps_node), (weight, weight_node)) = (maps.into_parts(), weight.into_parts());
        let ((gain, gain_node), (shift, shift_node)) = (affine.gain.into_parts(), affine.shift.into_parts());
        let (identity, identity_node) = identity.into_option().map(FloatTensor::<Self>::into_parts).unzip();
        let (output, convolution, mean, variance) = B::convolve_normalised(
            maps.clone(),
            weight.clone(),
            Affine { gain: gain.clone(), shift: shift.clone() },
            Optional::of(identity),
            joined,
        );
        let constant = |tensor: &FloatTensor<B>| Self::from_inner(tensor.clone());
        let besides = [constant(&convolution), constant(&mean), constant(&variance)];
        let is_added = identity_node.is_some();
        let state = |output| {
            (Kept { maps, weight, gain, shift, convolution, mean, variance, output, is_added }, joined)
        };
        let output = match identity_node {
            Some(identity_node) => {
                let nodes = [maps_node, weight_node, gain_node, shift_node, identity_node];
                match Backward::<B, 5>::prepare::<C>(ConvolveNormalised, nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prepared) => prepared.finish(state(output.clone()), output),
                    OpsKind::UnTracked(prepared) => prepared.finish(output),
                }
            }
            None => {
                let nodes = [maps_node, weight_node, gain_node, shift_node];
                match Backward::<B, 4>::prepare::<C>(ConvolveNormalised, nodes).compute_bound().stateful() {
                    OpsKind::Tracked(prepared) => prepared.finish(state(output.clone()), output),
                    OpsKind::UnTracked(prepared) => prepared.finish(output),
                }
            }
        };
        let [convolution, mean, variance] = besides;
        (output, convolution, mean, variance)
    }

    /// One operation if no gradient is needed; else the convolution is one operation, and the following steps are
    /// Burn's.
    fn convolve_normalised_by(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        affine: Affine<Self>,
        moments: Moments<Self>,
        identity: Optional<Self>,
        joined: Joined,
    ) -> FloatTensor<Self> {
        let identity = identity.into_option();
        let tensors = [&maps, &weight, &affine.gain, &affine.shift, &moments.mean, &moments.variance];
        if tensors.into_iter().chain(&identity).any(FloatTensor::<Self>::is_tracked) {
            let identity = Optional::of(identity);
            return plain_convolve_normalised_by::<Self>(maps, weight, affine, moments, identity, joined);
        }
        Self::from_inner(B::convolve_normalised_by(
            maps.into_primitive(),
            weight.into_primitive(),
            Affine { gain: affine.gain.into_primitive(), shift: affine.shift.into_primitive() },
            Moments { mean: moments.mean.into_primitive(), variance: moments.variance.into_primitive() },
            Optional::of(identity.map(FloatTensor::<Self>::into_primitive)),
            joined,
        ))
    }

    fn convolve_tanh_pool(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let ((maps, maps_node), (weight, weight_node)) = (maps.into_parts(), weight.into_parts());
        let (bias, bias_node) = bias.into_parts();
        let (output, tanh) = B::convolve_tanh_pool(maps.clone(), weight.clone(), bias);
        let constant = Self::from_inner(tanh.clone());
        let nodes = [maps_node, weight_node, bias_node];
        let output = match ConvolveTanhPool.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish([maps, weight, tanh], output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        };
        (output, constant)
    }

    fn mean_pool(maps: FloatTensor<Self>) -> FloatTensor<Self> {
        let (maps, node) = maps.into_parts();
        let [_, height, width, _] = maps.shape().dims();
        let output = B::mean_pool(maps);
        match MeanPool.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish([height, width], output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn max_pool(
        maps: FloatTensor<Self>,
        side: usize,
        windows: Windows,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let (maps, node) = maps.into_parts();
        let (output, sources) = B::max_pool(maps.clone(), side, windows);
        let output = match MaxPool.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((maps, sources.clone(), side, windows), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        };
        (output, sources)
    }
}
