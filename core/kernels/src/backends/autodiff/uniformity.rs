use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};
use burn::tensor::Shape;

use super::record::record;
use crate::UniformityOps;

impl<B: Backend + UniformityOps, C: CheckpointStrategy> UniformityOps for Autodiff<B, C> {
    fn uniformity(
        rows: FloatTensor<Self>,
        t: f64,
        tile: Option<usize>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let node = rows.node();
        let (value, gradient) = B::uniformity(rows.into_primitive(), t, tile);
        let constant = Self::from_inner(gradient.clone());
        let value = record::<B, C, 1>([node], value, |upstream, _| {
            [Some(B::float_mul(gradient, B::float_reshape(upstream, Shape::new([1, 1]))))]
        });
        (value, constant)
    }
}
