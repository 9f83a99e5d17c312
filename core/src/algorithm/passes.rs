//! The forward and backward passes of a step.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use rand::RngExt as _;
use rand_distr::StandardNormal;

use super::Views;
use crate::error::{Error, Result};
use crate::nn::Model;
use crate::numeric::random::{Purpose, stream};
use crate::optim::Optimizer;
use crate::step_stage::StepStage;

/// Projections, or class scores, of images.
pub(super) fn output(model: &Model, images: Tensor<4>) -> Tensor<2> {
    model.head.forward(model.encoder.forward(images))
}

/// Embeddings of both views, in one pass unless the views need separate statistics.
pub(super) fn embed(model: &Model, views: &Views) -> ViewOutputs {
    ViewOutputs(images(views).into_iter().map(|images| model.encoder.forward(images)).collect())
}

/// The images of each pass.
pub(super) fn images(views: &Views) -> Vec<Tensor<4>> {
    if views.per_view_batch_norm { vec![views.a.clone(), views.b.clone()] } else { vec![views.both()] }
}

/// Projections of both views, in the same number of passes.
pub(super) fn project(model: &Model, views: &Views) -> [Tensor<2>; 2] {
    embed(model, views).project(model).split()
}

/// Normal random numbers without a gradient, which follow from a seed and the number of a step.
pub(super) fn normal_numbers((seed, step): (u64, u64), dims: [usize; 2], device: &Device) -> Tensor<2> {
    let mut rng = stream(seed, Purpose::Objective, step);
    let values: Vec<f32> = (0..dims[0] * dims[1]).map(|_| rng.sample(StandardNormal)).collect();
    let device = device.clone().without_autodiff();
    Tensor::<2>::from_data(TensorData::new(values, dims), (&device, DType::F32)).autodiff()
}

/// One optimiser step of all parameters of `module`.
pub(super) fn descend<M: Module>(
    module: &mut M,
    loss: Tensor<1>,
    optimizer: &mut Optimizer,
    learning_rate: f64,
) -> Result<()> {
    let parameters = gradients(module, loss)?;
    *module = optimizer.step(learning_rate, module.clone(), parameters);
    Ok(())
}

/// The gradients of all parameters of `module`.
pub(super) fn gradients<M: Module>(module: &M, loss: Tensor<1>) -> Result<GradientsParams> {
    Ok(GradientsParams::from_module(&mut backward(loss)?, module))
}

/// The gradients of everything that a loss depends on.
pub(super) fn backward(loss: Tensor<1>) -> Result<Gradients> {
    if !loss.is_tracked() {
        return Err(no_network());
    }
    let _span = StepStage::Backward.enter();
    Ok(loss.backward())
}

/// The error of a loss from which no network learns.
pub(super) fn no_network() -> Error {
    Error::Degenerate {
        reason: "the loss depends on no network".into(),
        remedy: "train with another objective, or with the method that it belongs to".into(),
    }
}

/// A scalar function of the outputs whose gradients are the given ones: the sum of `output * gradient`; `None` without gradients.
pub(super) fn surrogate_loss<const D: usize>(
    outputs: impl IntoIterator<Item = (Tensor<D>, Option<Tensor<D>>)>,
) -> Option<Tensor<1>> {
    let products =
        outputs.into_iter().filter_map(|(output, gradient)| Some((output * gradient?.autodiff()).sum()));
    products.reduce(|sum, product| sum + product)
}

/// The outputs of a network for two views: from one pass of both, view a first, or from one pass for each view.
#[derive(Debug, Clone)]
pub(super) struct ViewOutputs(pub(super) Vec<Tensor<2>>);

impl ViewOutputs {
    /// The outputs of the head for embeddings.
    pub(super) fn project(&self, model: &Model) -> Self {
        Self(self.0.iter().map(|embedding| model.head.forward(embedding.clone())).collect())
    }

    /// The outputs of each view.
    pub(super) fn split(&self) -> [Tensor<2>; 2] {
        match self.0.as_slice() {
            [a, b] => [a.clone(), b.clone()],
            passes => halves(Tensor::cat(passes.to_vec(), 0)),
        }
    }
}

/// The first and the second half of the rows.
pub(super) fn halves(both: Tensor<2>) -> [Tensor<2>; 2] {
    let b = both.dims()[0] / 2;
    [both.clone().slice([0..b]), both.slice([b..2 * b])]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{rng, views};
    use super::super::{ModelConfig, Views};
    use super::*;

    #[test]
    fn views_apart_are_normalised_each_by_its_own_statistics() {
        let model = ModelConfig::default().init(&Device::flex(), &mut rng(1)).unwrap();
        // The views differ in brightness, so that their statistics differ too.
        let views = views(6, 2);
        let views = Views::new(views.a.inner(), views.b.inner() * 0.2 + 0.7).unwrap();
        for apart in [true, false] {
            let [a, _] = project(&model, &views.clone().with_per_view_batch_norm(apart));
            // The last layer normalises, so a view with separate statistics has mean 0.
            let largest_mean = a.inner().mean_dim(0).abs().max().into_scalar::<f32>();
            assert_eq!(largest_mean < 1e-5, apart);
        }
    }
}
