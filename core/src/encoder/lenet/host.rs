//! The convolutional blocks of LeNet-5 on the host, with their gradient written by hand.
//!
//! What a training step on the CPU costs is memory: the windows of 512 images are 43 MB, and every intermediate that
//! autodiff keeps is 10 MB more, all of it fresh pages. Here a few images at a time go through a block, their windows
//! stay in the cache and are formed again for the gradient, and of the block only its `tanh` is kept.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};
use faer::MatRef;
use pulp::Arch;

use super::geometry::Geometry;
use super::{INPUT_SIZE, KERNEL, LeNet5};
use crate::encoder::layers::Convolution;
use crate::encoder::maps::{Maps, floats};
use crate::encoder::tape::accumulate;
use crate::host::is_host;
use simile_kernels::cpu::gemm::{matrix, product};
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::tanh::tangent;

/// Images whose windows are formed at once: 0.7 MB in the first block.
const CHUNK: usize = 8;

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
    let (maps, _) = first.forward(&Maps::of_images(images).values, drop);
    let (maps, _) = second.forward(&maps, drop);
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
    let (first, maps) = Kept::forward(&network.conv1, INPUT_SIZE, Maps::of_images(images).values);
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
    maps: Vec<f32>,
    /// `[rows, 4 * out]` for each chunk.
    tanh: Vec<Vec<f32>>,
}

impl Kept {
    fn forward(layer: &Convolution, side: usize, maps: Vec<f32>) -> (Self, Vec<f32>) {
        let block = Block::new(layer, side);
        let (pooled, tanh) = block.forward(&maps, |tanh| tanh);
        (Self { block, weight: layer.weight.id, bias: layer.bias.id, maps, tanh }, pooled)
    }

    /// Registers the gradients of the layer; returns that of the input if it is wanted.
    fn backward(&self, upstream: &[f32], of_input: bool, parameters: &mut GradientsParams) -> Vec<f32> {
        let (kernel, input) = self.block.backward(&self.maps, &self.tanh, upstream, of_input);
        let Block { geometry, device, .. } = &self.block;
        let (weight, bias) = geometry.gradients(&kernel);
        let shape = [geometry.out, geometry.channels, KERNEL, KERNEL];
        let weight = Tensor::<4>::from_data(TensorData::new(weight, shape), device);
        let bias = Tensor::<1>::from_data(TensorData::new(bias, [geometry.out]), device);
        accumulate(parameters, self.weight, weight);
        accumulate(parameters, self.bias, bias);
        input
    }
}

/// `avg_pool2(tanh(conv(maps)))` as a product of windows with a kernel matrix.
#[derive(Debug)]
struct Block {
    geometry: Geometry,
    /// `[window, 4 * out]`.
    kernel: Vec<f32>,
    device: Device,
}

impl Block {
    fn new(layer: &Convolution, side: usize) -> Self {
        let weight = layer.weight.val().without_autodiff();
        let [out, channels, ..] = weight.dims();
        let geometry = Geometry { side, channels, out };
        let device = weight.device();
        let (weight, bias) = (weight.into_data(), layer.bias.val().without_autodiff().into_data());
        let kernel = geometry.kernel(floats(&weight), floats(&bias));
        Self { geometry, kernel, device }
    }

    fn kernel(&self) -> MatRef<'_, f32> {
        matrix(&self.kernel, self.geometry.columns())
    }

    /// `[n, side, side * channels]` to `[n, pooled, pooled * out]`, and what `keep` makes of the `tanh` of each chunk.
    fn forward<T: Send>(
        &self,
        maps: &[f32],
        keep: impl Fn(Vec<f32>) -> T + Sync + Send,
    ) -> (Vec<f32>, Vec<T>) {
        let chunks = maps.chunks(CHUNK * self.geometry.image());
        let (pooled, kept): (Vec<_>, Vec<_>) = parallel::map(chunks, |chunk| {
            let tanh = self.tanh(chunk);
            (self.pool(&tanh), keep(tanh))
        })
        .into_iter()
        .unzip();
        (pooled.concat(), kept)
    }

    /// `tanh(conv(maps))` of some images, `[rows, 4 * out]`.
    fn tanh(&self, maps: &[f32]) -> Vec<f32> {
        let windows = self.geometry.unfold(maps);
        let mut tanh = product(matrix(&windows, self.geometry.window()), self.kernel());
        Arch::new().dispatch(|| tanh.iter_mut().for_each(|x| *x = tangent(*x)));
        tanh
    }

    /// The mean of the four outputs of each window.
    fn pool(&self, tanh: &[f32]) -> Vec<f32> {
        let Geometry { out, .. } = self.geometry;
        let mut pooled = Vec::with_capacity(tanh.len() / 4);
        for row in tanh.chunks_exact(self.geometry.columns()) {
            let (top, bottom) = row.split_at(2 * out);
            let (four, right) = (top.iter().zip(bottom), top[out..].iter().zip(&bottom[out..]));
            pooled.extend(four.zip(right).map(|((a, c), (b, d))| 0.25 * (a + b + c + d)));
        }
        pooled
    }

    /// The gradient of the kernel matrix and, if it is wanted, of the maps, from that of the output.
    fn backward(
        &self,
        maps: &[f32],
        tanh: &[Vec<f32>],
        upstream: &[f32],
        of_input: bool,
    ) -> (Vec<f32>, Vec<f32>) {
        let upstream = upstream.chunks(CHUNK * self.geometry.features());
        let chunks = maps.chunks(CHUNK * self.geometry.image()).zip(tanh).zip(upstream);
        let found = parallel::map(chunks, |((maps, tanh), upstream)| {
            let slope = self.slope(tanh, upstream);
            let slope = matrix(&slope, self.geometry.columns());
            let windows = self.geometry.unfold(maps);
            let of_kernel = product(matrix(&windows, self.geometry.window()).transpose(), slope);
            (of_kernel, if of_input { self.input(slope, maps.len()) } else { Vec::new() })
        });
        let mut kernel = vec![0.0; self.kernel.len()];
        let mut inputs = Vec::with_capacity(if of_input { maps.len() } else { 0 });
        for (of_kernel, input) in found {
            kernel.iter_mut().zip(of_kernel).for_each(|(sum, value)| *sum += value);
            inputs.extend(input);
        }
        (kernel, inputs)
    }

    /// The gradient of `conv(maps)`, `[rows, 4 * out]`, from that of the pooled output.
    fn slope(&self, tanh: &[f32], upstream: &[f32]) -> Vec<f32> {
        let mut slope = Vec::with_capacity(tanh.len());
        for pooled in upstream.chunks_exact(self.geometry.out) {
            (0..self.geometry.columns() / self.geometry.out).for_each(|_| slope.extend_from_slice(pooled));
        }
        Arch::new().dispatch(|| slope.iter_mut().zip(tanh).for_each(|(g, y)| *g *= 0.25 * (1.0 - y * y)));
        slope
    }

    /// The gradient of `length` values of the maps.
    fn input(&self, slope: MatRef<'_, f32>, length: usize) -> Vec<f32> {
        let windows = product(slope, self.kernel().transpose());
        let mut input = vec![0.0; length];
        Arch::new().dispatch(|| self.geometry.fold(&windows, &mut input));
        input
    }
}
