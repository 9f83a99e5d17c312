use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend as _, Backend};

use super::record::record;
use crate::{NormalisationGradients, NormalisationOps};

impl<B: Backend + NormalisationGradients, C: CheckpointStrategy> NormalisationOps for Autodiff<B, C> {
    fn normalise_batch(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let ((x, x_node), (gain, gain_node)) = (x.into_parts(), gain.into_parts());
        let (shift, shift_node) = shift.into_parts();
        let (y, mean, variance) = B::normalise_batch(x.clone(), gain.clone(), shift, epsilon);
        let constant = |tensor: &FloatTensor<B>| Self::from_inner(tensor.clone());
        let [constant_mean, constant_variance] = [constant(&mean), constant(&variance)];
        let y = record::<B, C, 3>([x_node, gain_node, shift_node], y, move |upstream, _| {
            let (x, gain, shift) = B::normalise_batch_backward(x, gain, mean, variance, upstream, epsilon);
            [Some(x), Some(gain), Some(shift)]
        });
        (y, constant_mean, constant_variance)
    }
}
