use burn::backend::TensorMetadata;
use burn::backend::cubecl::dtype_to_elem_type;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{DType, Shape, Slice};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use super::memory::{empty, one_each};
use crate::cube::unfold::{UnfoldShapeLaunch, unfold};
use crate::ops::convolution::plain::plain_convolve_weight_backward;
use crate::ops::convolution::{ConvolutionGradients, ConvolutionOps, Windows};
use crate::ops::precision::{narrowed, widened};

/// The most bytes of unfolded maps at a time: as many as a browser binds to a kernel.
const MOST_BYTES: usize = 128 << 20;
/// Number of products that a sum over all places is cut into, if there are enough places: the result of one alone is too small to
/// keep a GPU busy.
const PRODUCTS: usize = 64;
/// Minimum number of places of a product, if there are enough.
const LEAST_PLACES: usize = 1024;
/// Columns of a product are a multiple of this number, so that matrix units read them in vectors.
const COLUMNS: usize = 8;

// Products dominate the cost of convolutions, and CubeCL's are tuned already.
impl ConvolutionOps for CubeBackend {}

impl ConvolutionGradients for CubeBackend {
    /// A product of the gradients with the unfolded maps. Burn 0.22 unfolds with kernels for each place of a window and copies
    /// the result, in which a step of ResNet-18 spent more than a third of its time on an H200.
    fn convolve_weight_backward(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
        windows: Windows,
    ) -> FloatTensor<Self> {
        let [outputs, inputs, kernel, other] = weight.shape().dims();
        let is_float = matches!(maps.dtype, DType::F32 | DType::F16 | DType::BF16);
        let is_empty = maps.shape().num_elements() == 0 || upstream.shape().num_elements() == 0;
        if !is_float || upstream.dtype != maps.dtype || kernel != other || kernel == 1 || is_empty {
            return plain_convolve_weight_backward::<Self>(maps, weight, upstream, windows);
        }
        let dtype = maps.dtype;
        // Parts of contiguous tensors are views of them.
        let (maps, upstream) = (into_contiguous(maps), into_contiguous(upstream));
        let unfolding = Unfolding::new(&maps, &upstream, kernel, windows);
        let [images, ..] = maps.shape().dims::<4>();
        let part = part_of(images, unfolding.most_images(dtype.size()));
        let sums = (0..images).step_by(part).map(|first| {
            let of = |tensor: &CubeTensor| match part == images {
                true => tensor.clone(),
                false => {
                    let last = (first + part).min(images);
                    Self::float_slice(tensor.clone(), &[Slice::from(first..last)])
                }
            };
            unfolding.gemm(of(&maps), of(&upstream), outputs)
        });
        let Some(sum) = sums.reduce(Self::float_add) else {
            return plain_convolve_weight_backward::<Self>(maps, weight, upstream, windows);
        };
        let width = kernel * kernel * inputs;
        let sum = Self::float_slice(sum, &[Slice::from(0..outputs), Slice::from(0..width)]);
        let grads = Self::float_reshape(sum, Shape::new([outputs, kernel, kernel, inputs]));
        Self::float_permute(narrowed::<Self>(grads, dtype), &[0, 3, 1, 2])
    }
}

/// The shapes of maps whose windows are written out as rows.
struct Unfolding {
    sides: [usize; 2],
    out_sides: [usize; 2],
    channels: usize,
    /// Numbers of a row: those of a window, and zeros.
    columns: usize,
    kernel: usize,
    windows: Windows,
}

impl Unfolding {
    fn new(maps: &CubeTensor, upstream: &CubeTensor, kernel: usize, windows: Windows) -> Self {
        let [_, height, width, channels] = maps.shape().dims();
        let [_, out_height, out_width, _] = upstream.shape().dims();
        Self {
            sides: [height, width],
            out_sides: [out_height, out_width],
            channels,
            columns: (kernel * kernel * channels).next_multiple_of(COLUMNS),
            kernel,
            windows,
        }
    }

    /// The most images that are unfolded at a time, of numbers of so many bytes.
    fn most_images(&self, bytes: usize) -> usize {
        let [height, width] = self.out_sides;
        (MOST_BYTES / (height * width * self.columns * bytes)).max(1)
    }

    /// Rows `[images * out_height * out_width, columns]`.
    fn rows(&self, maps: CubeTensor) -> CubeTensor {
        // On CUDA a part that does not begin and end at a multiple of 512 bytes is a copy, with padded rows of channels.
        let maps = into_contiguous(maps);
        let [images, ..] = maps.shape().dims::<4>();
        let [out_height, out_width] = self.out_sides;
        let rows = empty(&maps, [images * out_height * out_width, self.columns], maps.dtype);
        let (client, dtype) = (maps.client.clone(), dtype_to_elem_type(maps.dtype));
        let lanes = client
            .properties()
            .io_optimized_vector_sizes(maps.dtype.size())
            .find(|lanes| [self.channels, self.columns].iter().all(|count| count.is_multiple_of(*lanes)))
            .unwrap_or(1);
        let count = rows.shape().num_elements() / lanes;
        let (cubes, units) = one_each(&maps, count);
        let shape = UnfoldShapeLaunch {
            height: self.sides[0],
            width: self.sides[1],
            out_height,
            out_width,
            vectors: self.channels / lanes,
            columns: self.columns / lanes,
            kernel: self.kernel,
            stride: self.windows.stride,
            padding: self.windows.padding,
            count,
        };
        // SAFETY: units past the last vector return at once, and places beside the maps are not read.
        #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
        unsafe {
            unfold::launch_unchecked(
                &client,
                cubes,
                units,
                lanes,
                maps.into_tensor_arg(),
                rows.clone().into_tensor_arg(),
                shape,
                dtype,
            );
        }
        rows
    }

    /// The product of gradients and windows, summed over the places of all images: `[outputs, columns]`, in `f32` if the maps are in half
    /// precision. The products of parts of the places themselves are rounded to the type of the maps.
    fn gemm(&self, maps: CubeTensor, upstream: CubeTensor, outputs: usize) -> CubeTensor {
        let rows = self.rows(maps);
        let [places, columns] = rows.shape().dims();
        let products = largest_divisor(places, (places / LEAST_PLACES).clamp(1, PRODUCTS));
        let cut = |tensor, width| {
            CubeBackend::float_reshape(tensor, Shape::new([products, places / products, width]))
        };
        let gradients = CubeBackend::float_swap_dims(cut(upstream, outputs), 1, 2);
        let products = widened::<CubeBackend>(CubeBackend::float_matmul(gradients, cut(rows, columns)));
        CubeBackend::float_reshape(CubeBackend::float_sum_dim(products, 0), Shape::new([outputs, columns]))
    }
}

/// The images of a part: equally many where that takes less than twice as many parts, because a GPU chooses kernels for each shape.
fn part_of(images: usize, most: usize) -> usize {
    let most = most.min(images);
    let equal = largest_divisor(images, most);
    if 2 * equal > most { equal } else { images.div_ceil(images.div_ceil(most)) }
}

/// The largest divisor of `number` that is at most `most`.
fn largest_divisor(number: usize, most: usize) -> usize {
    (1..=most).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_equal_where_that_costs_little() {
        assert_eq!(part_of(512, 113), 64);
        assert_eq!(part_of(512, 600), 512);
        // 2 · 257: in equal parts there would be 257 of them.
        assert_eq!(part_of(514, 113), 103);
        assert_eq!(part_of(7, 1), 1);
    }

    #[test]
    fn sums_are_cut_into_equal_products() {
        assert_eq!(largest_divisor(15, 4), 3);
        assert_eq!(largest_divisor(7, 6), 1);
        assert_eq!(largest_divisor(9, 9), 9);
    }
}
