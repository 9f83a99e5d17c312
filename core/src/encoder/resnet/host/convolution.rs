//! A convolution without bias, by the way that suits its shape.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};

use super::super::PlainConvolution;
use super::unfold::Geometry;
use super::workspace::Workspace;
use super::{unfold, winograd};
use crate::encoder::maps::{Maps, floats};
use crate::encoder::tape::accumulate;

/// With fewer tiles, bringing the kernel into Winograd's form costs more than it saves.
const FEWEST_TILES: usize = 8;

/// A layer of the network.
#[derive(Debug)]
pub(super) struct Convolution {
    id: ParamId,
    device: Device,
    geometry: Geometry,
    weight: TensorData,
}

impl Convolution {
    pub(super) fn new(layer: &PlainConvolution) -> Self {
        let weight = layer.weight.val().without_autodiff();
        let [outputs, inputs, kernel, _] = weight.dims();
        let (stride, padding) = (layer.stride, layer.padding);
        let geometry = Geometry { inputs, outputs, kernel, stride, padding };
        Self { id: layer.weight.id, device: weight.device(), geometry, weight: weight.into_data() }
    }

    /// Whether the shape suits Winograd's way, and there is enough to do for the kernel to be worth its form.
    fn is_minimal(&self, maps: &Maps) -> bool {
        let Geometry { inputs, outputs, kernel, stride, padding } = self.geometry;
        (kernel, stride, padding) == (winograd::KERNEL, 1, 1)
            && winograd::applies(inputs, outputs)
            && winograd::tiles(maps) >= FEWEST_TILES
    }

    fn transform(&self, maps: &Maps, kernel: &mut Vec<f32>) {
        let Geometry { inputs, outputs, .. } = self.geometry;
        if self.is_minimal(maps) {
            winograd::transform(floats(&self.weight), inputs, outputs, kernel);
        } else {
            unfold::transform(floats(&self.weight), self.geometry, kernel);
        }
    }

    pub(super) fn forward(&self, maps: &Maps, workspace: &mut Workspace) -> Maps {
        self.transform(maps, &mut workspace.kernel);
        let mut found = workspace.maps(maps.n, self.geometry.sides(maps), self.geometry.outputs);
        if self.is_minimal(maps) {
            winograd::forward(maps, &workspace.kernel, &mut found);
        } else {
            unfold::forward(maps, &workspace.kernel, self.geometry, &mut found);
        }
        found
    }

    /// Adds the gradient of the weight to `parameters` and that of the maps, if it is wanted, to `of_maps`.
    pub(super) fn backward(
        &self,
        maps: &Maps,
        upstream: &Maps,
        of_maps: Option<&mut Maps>,
        parameters: &mut GradientsParams,
        kernel: &mut Vec<f32>,
    ) {
        self.transform(maps, kernel);
        let weight = if self.is_minimal(maps) {
            winograd::backward(maps, upstream, kernel, of_maps)
        } else {
            unfold::backward(maps, upstream, kernel, self.geometry, of_maps)
        };
        let Geometry { inputs, outputs, kernel, .. } = self.geometry;
        let weight = TensorData::new(weight, [outputs, inputs, kernel, kernel]);
        accumulate(parameters, self.id, Tensor::<4>::from_data(weight, &self.device));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::module::Param;
    use burn::tensor::module::conv2d;
    use burn::tensor::ops::ConvOptions;

    use super::*;

    fn wave<const D: usize>(shape: [usize; D], step: f32, device: &Device) -> Tensor<D> {
        let values: Vec<f32> = (0..shape.iter().product()).map(|i| (i as f32 * step).sin()).collect();
        Tensor::from_data(TensorData::new(values, shape), device)
    }

    /// As `[n, channels, height, width]`.
    fn planes(maps: &Maps) -> Tensor<4> {
        let shape = [maps.n, maps.height, maps.width, maps.channels];
        Tensor::<4>::from_data(TensorData::new(maps.values.clone(), shape), &Device::flex())
            .permute([0, 3, 1, 2])
    }

    fn assert_close(found: Tensor<4>, expected: Tensor<4>, what: &str) {
        assert_eq!(found.dims(), expected.dims(), "{what}");
        let largest = expected.clone().abs().max().into_scalar::<f32>();
        let worst = (found - expected).abs().max().into_scalar::<f32>();
        assert!(worst < 1e-4 * largest, "{what}: {worst} of {largest}");
    }

    #[test]
    fn every_way_equals_the_definition() {
        let device = Device::flex().autodiff();
        for (images, inputs, outputs, kernel, stride, padding, side) in [
            (37, 16, 32, 3, 1, 1, 12),
            (37, 32, 16, 3, 1, 1, 7),
            (37, 16, 16, 3, 1, 1, 1),
            // Too few tiles for Winograd's way.
            (1, 16, 16, 3, 1, 1, 6),
            (37, 16, 32, 3, 2, 1, 9),
            (37, 3, 16, 3, 1, 2, 6),
            (37, 3, 16, 7, 2, 3, 13),
            (37, 16, 32, 1, 1, 0, 5),
            (37, 16, 32, 1, 2, 0, 8),
        ] {
            let case = format!("{images}: {inputs} to {outputs}, {kernel}x{kernel}, stride {stride}, {side}");
            let weight = wave([outputs, inputs, kernel, kernel], 0.7, &device).require_grad();
            let images = wave([images, inputs, side, side + 2], 0.31, &device).require_grad();
            let options = ConvOptions::new([stride; 2], [padding; 2], [1; 2], 1);
            let expected = conv2d(images.clone(), weight.clone(), None, options);
            let upstream = wave(expected.dims(), 0.53, &device);
            let gradients = (expected.clone() * upstream.clone()).sum().backward();

            let layer = PlainConvolution { weight: Param::from_tensor(weight.clone()), stride, padding };
            let (ours, maps) = (Convolution::new(&layer), Maps::of_images(images.clone()));
            let mut workspace = Workspace::default();
            // What earlier maps left behind is no part of the next.
            workspace.recycle(Maps { values: vec![f32::NAN; 1 << 20], ..maps.clone() });
            assert_close(planes(&ours.forward(&maps, &mut workspace)), expected.inner(), &case);
            let mut parameters = GradientsParams::default();
            let mut of_maps = workspace.zeros_like(&maps);
            ours.backward(
                &maps,
                &Maps::of_images(upstream),
                Some(&mut of_maps),
                &mut parameters,
                &mut workspace.kernel,
            );
            assert_close(planes(&of_maps), images.grad(&gradients).unwrap(), &format!("{case}: maps"));
            let of_weight = parameters.get::<4>(layer.weight.id).unwrap();
            assert_close(of_weight, weight.grad(&gradients).unwrap(), &format!("{case}: weight"));
        }
    }
}
