//! The convolutional blocks of LeNet-5 on the host, with their gradient written by hand.
//!
//! What a training step on the CPU costs is memory: the windows of 512 images are 43 MB, and every intermediate that
//! autodiff keeps is 10 MB more, all of it fresh pages. Here a few images at a time go through a block, their windows
//! stay in the cache and are formed again for the gradient, and of the block only its `tanh` is kept. Products are
//! Burn's, so they use all cores.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use pulp::Arch;

use super::geometry::Geometry;
use super::{INPUT_SIZE, KERNEL, LeNet5};
use crate::encoder::layers::Convolution;
use crate::encoder::tanh::{is_host, tangent};

/// Images whose windows are formed at once.
const CHUNK: usize = 32;

/// Whether the blocks can be evaluated here: 32-bit floats in the host's memory, images of the right size, and no
/// gradient of them wanted.
pub(super) fn applies(network: &LeNet5, images: &Tensor<4>) -> bool {
    let [_, channels, ..] = network.conv1.weight.dims();
    let types = [images.dtype(), network.conv1.weight.val().dtype(), network.conv2.weight.val().dtype()];
    types == [DType::F32; 3]
        && images.dims()[1..] == [channels, INPUT_SIZE, INPUT_SIZE]
        && !images.is_tracked()
        && is_host(&images.device())
}

/// Whether a gradient of a parameter of the blocks is wanted.
pub(super) fn is_trained(network: &LeNet5) -> bool {
    let trained = |layer: &Convolution| layer.weight.val().is_tracked() || layer.bias.val().is_tracked();
    trained(&network.conv1) || trained(&network.conv2)
}

/// The maps after both blocks, `[n, 400]`, without a gradient.
pub(super) fn evaluate(network: &LeNet5, images: Tensor<4>) -> Tensor<2> {
    let (n, device) = (images.dims()[0], images.device());
    let first = Block::new(&network.conv1, INPUT_SIZE);
    let second = Block::new(&network.conv2, first.geometry.pooled());
    let maps = first.forward(floats(&channels_last(images)), |_| ());
    let maps = second.forward(&maps, |_| ());
    Tensor::from_data(TensorData::new(maps, [n, second.geometry.features()]), &device)
}

/// The maps after both blocks as a leaf of the autodiff graph, with what continues from its gradient.
///
/// `None` if a parameter of the blocks is frozen.
pub(super) fn record(network: &LeNet5, images: Tensor<4>) -> Option<Tape> {
    let trained =
        |layer: &Convolution| layer.weight.val().is_require_grad() && layer.bias.val().is_require_grad();
    if !trained(&network.conv1) || !trained(&network.conv2) {
        return None;
    }
    let n = images.dims()[0];
    let (first, maps) = Kept::forward(&network.conv1, INPUT_SIZE, channels_last(images));
    let maps = TensorData::new(maps, [n, first.block.geometry.features()]);
    let (second, maps) = Kept::forward(&network.conv2, first.block.geometry.pooled(), maps);
    let maps = TensorData::new(maps, [n, second.block.geometry.features()]);
    let maps = Tensor::from_data(maps, &network.conv3.weight.val().device()).require_grad();
    Some(Tape { first, second, maps })
}

/// What a training step keeps to carry the gradient of the last maps back to both convolutions.
#[derive(Debug)]
pub(crate) struct Tape {
    first: Kept,
    second: Kept,
    maps: Tensor<2>,
}

impl Tape {
    /// The leaf, `[n, 400]`.
    pub(super) fn maps(&self) -> Tensor<2> {
        self.maps.clone()
    }

    /// Takes the gradient of the leaf and adds those of both convolutions.
    pub(crate) fn finish(self, gradients: &mut Gradients, parameters: &mut GradientsParams) {
        let Some(upstream) = self.maps.grad_remove(gradients) else { return };
        let upstream = self.second.backward(floats(&upstream.into_data()), true, parameters);
        self.first.backward(&upstream, false, parameters);
    }
}

/// One block of a training step.
#[derive(Debug)]
struct Kept {
    block: Block,
    weight: ParamId,
    bias: ParamId,
    /// The input, `[n, side, side * channels]`.
    maps: TensorData,
    /// `[rows, 4 * out]` for each chunk.
    tanh: Vec<TensorData>,
}

impl Kept {
    fn forward(layer: &Convolution, side: usize, maps: TensorData) -> (Self, Vec<f32>) {
        let block = Block::new(layer, side);
        let mut tanh = vec![];
        let pooled = block.forward(floats(&maps), |chunk| tanh.push(chunk));
        (Self { block, weight: layer.weight.id, bias: layer.bias.id, maps, tanh }, pooled)
    }

    /// Registers the gradients of the layer; returns that of the input if it is wanted.
    fn backward(&self, upstream: &[f32], of_input: bool, parameters: &mut GradientsParams) -> Vec<f32> {
        let (kernel, input) = self.block.backward(floats(&self.maps), &self.tanh, upstream, of_input);
        let Some(kernel) = kernel else { return input };
        let Block { geometry, device, .. } = &self.block;
        let (weight, bias) = geometry.gradients(floats(&kernel.into_data()));
        let shape = [geometry.out, geometry.channels, KERNEL, KERNEL];
        let weight = Tensor::<4>::from_data(TensorData::new(weight, shape), device);
        let bias = Tensor::<1>::from_data(TensorData::new(bias, [geometry.out]), device);
        // Two forward passes in one step add up.
        let sum = parameters.remove::<4>(self.weight).map(|before| before + weight.clone()).unwrap_or(weight);
        parameters.register(self.weight, sum);
        let sum = parameters.remove::<1>(self.bias).map(|before| before + bias.clone()).unwrap_or(bias);
        parameters.register(self.bias, sum);
        input
    }
}

/// `avg_pool2(tanh(conv(maps)))` as a product of windows with a kernel matrix.
#[derive(Debug)]
struct Block {
    geometry: Geometry,
    /// `[window, 4 * out]`.
    kernel: Tensor<2>,
    device: Device,
}

impl Block {
    fn new(layer: &Convolution, side: usize) -> Self {
        let weight = layer.weight.val().without_autodiff();
        let [out, channels, ..] = weight.dims();
        let geometry = Geometry { side, channels, out };
        let device = weight.device();
        let (weight, bias) = (weight.into_data(), layer.bias.val().without_autodiff().into_data());
        let kernel = TensorData::new(
            geometry.kernel(floats(&weight), floats(&bias)),
            [geometry.window(), geometry.columns()],
        );
        Self { geometry, kernel: Tensor::from_data(kernel, &device), device }
    }

    /// The windows of some images, `[rows, window]`.
    fn windows(&self, maps: &[f32]) -> Tensor<2> {
        let windows = self.geometry.unfold(maps);
        let shape = [windows.len() / self.geometry.window(), self.geometry.window()];
        Tensor::from_data(TensorData::new(windows, shape), &self.device)
    }

    /// `[n, side, side * channels]` to `[n, pooled, pooled * out]`; `keep` is given the `tanh` of each chunk.
    fn forward(&self, maps: &[f32], mut keep: impl FnMut(TensorData)) -> Vec<f32> {
        let Geometry { out, .. } = self.geometry;
        let mut pooled = Vec::with_capacity(maps.len() / self.geometry.image() * self.geometry.features());
        for chunk in maps.chunks(CHUNK * self.geometry.image()) {
            let mut tanh = self.windows(chunk).matmul(self.kernel.clone()).into_data();
            if let Ok(values) = tanh.as_mut_slice::<f32>() {
                Arch::new().dispatch(|| values.iter_mut().for_each(|x| *x = tangent(*x)));
            }
            for row in floats(&tanh).chunks_exact(self.geometry.columns()) {
                let (top, bottom) = row.split_at(2 * out);
                let (four, right) = (top.iter().zip(bottom), top[out..].iter().zip(&bottom[out..]));
                pooled.extend(four.zip(right).map(|((a, c), (b, d))| 0.25 * (a + b + c + d)));
            }
            keep(tanh);
        }
        pooled
    }

    /// The gradient of the kernel matrix and, if it is wanted, of the maps, from that of the output.
    fn backward(
        &self,
        maps: &[f32],
        tanh: &[TensorData],
        upstream: &[f32],
        of_input: bool,
    ) -> (Option<Tensor<2>>, Vec<f32>) {
        let Geometry { out, .. } = self.geometry;
        let columns = self.geometry.columns();
        let mut kernel: Option<Tensor<2>> = None;
        let mut input = vec![0.0; if of_input { maps.len() } else { 0 }];
        let mut inputs = input.chunks_mut(CHUNK * self.geometry.image());
        let upstream = upstream.chunks(CHUNK * self.geometry.features());
        for ((maps, tanh), upstream) in maps.chunks(CHUNK * self.geometry.image()).zip(tanh).zip(upstream) {
            let mut slope = Vec::with_capacity(upstream.len() / out * columns);
            for pooled in upstream.chunks_exact(out) {
                (0..columns / out).for_each(|_| slope.extend_from_slice(pooled));
            }
            Arch::new().dispatch(|| {
                slope.iter_mut().zip(floats(tanh)).for_each(|(g, y)| *g *= 0.25 * (1.0 - y * y));
            });
            let shape = [slope.len() / columns, columns];
            let slope = Tensor::<2>::from_data(TensorData::new(slope, shape), &self.device);
            if let Some(input) = inputs.next() {
                let windows = slope.clone().matmul(self.kernel.clone().transpose()).into_data();
                Arch::new().dispatch(|| self.geometry.fold(floats(&windows), input));
            }
            let product = self.windows(maps).transpose().matmul(slope);
            kernel = Some(match kernel {
                Some(sum) => sum + product,
                None => product,
            });
        }
        (kernel, input)
    }
}

/// `[n, channels, side, side]` to `[n, side, side * channels]`.
fn channels_last(images: Tensor<4>) -> TensorData {
    let [n, channels, height, width] = images.dims();
    images.without_autodiff().permute([0, 2, 3, 1]).reshape([n, height, width * channels]).into_data()
}

/// The values; `applies` has made sure that they are 32-bit floats.
fn floats(data: &TensorData) -> &[f32] {
    data.as_slice().unwrap_or(&[])
}
