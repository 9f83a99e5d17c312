//! Random views of a batch of images.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension};
use burn::tensor::{DType, Shape, Tensor, TensorData, try_read_sync};

use crate::cpu::augment::{Sides, Views, augment as in_memory};

/// Views of a batch of images, each given by a few numbers.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait AugmentationOps: Backend {
    /// The views of `[n, channels, height, width]`.
    ///
    /// There is no sensible plain form: in tensor operations every image would need its own dense matrices. So the
    /// default body reads the images, computes the views in `f32` in the host's memory and writes them back.
    #[fusion(dtype = images, shape = views_shape(images, views))]
    fn augment(images: FloatTensor<Self>, views: Views) -> FloatTensor<Self> {
        let (shape, dtype, device) = (images.shape(), images.dtype(), images.device());
        let data = try_read_sync(Self::float_into_data(images)).and_then(Result::ok);
        Self::float_from_data(augment_data(data, &shape, dtype, &views), &device)
    }
}

/// The views of images as data; black if the images could not be read.
pub(crate) fn augment_data(
    images: Option<TensorData>,
    shape: &Shape,
    dtype: DType,
    views: &Views,
) -> TensorData {
    let values = images.and_then(|images| images.convert::<f32>().try_into_vec().ok());
    let values = values.unwrap_or_else(|| vec![0.0; shape.num_elements()]);
    let pixels = in_memory(values.into(), sides(shape), views);
    TensorData::new(pixels, views_shape(shape, views)).convert_dtype(dtype)
}

/// The sides of images of this shape.
pub(crate) fn sides(images: &Shape) -> Sides {
    let [_, channels, height, width] = images.dims();
    Sides { channels, height, width }
}

/// The shape of the views of images of this shape.
pub(crate) fn views_shape(images: &Shape, views: &Views) -> Shape {
    let [n, channels, ..] = images.dims::<4>();
    Shape::new([n, channels, views.size[0], views.size[1]])
}

/// Views of images (`[n, channels, height, width]`, 0 to 1, channels red, green and blue if colours change): the
/// parameters of each view are the input, the pixels `[n, channels, views.size]` the result. Steps, in this order:
///
/// ```text
/// window, resampled      v(i, j) = Σ w_ik w_jl x(k, l),  weights of Filter, cut to 0..1 after each sum of a cubic
/// rotation               the nearest pixel, black outside
/// horizontal flip
/// brightness, contrast, saturation, hue in a separate order for each view; grey
/// Gaussian blur          reflected at the border
/// ```
///
/// The steps are torchvision's, and for given parameters the results agree with it within 2/255. There must be a
/// view for each image, with a window inside the image; the radius of a blur must be less than the sides of the
/// views. The result is a constant: gradients do not pass.
///
/// Cost: a few operations a pixel and step; in addition to the images, about 100 bytes an image and 4 a weight of
/// the blur are copied to a device. The CPU has its own body, image by image in its cache; CubeCL has one in one to
/// four kernels, with the same results up to rounding. (A rotation in `f32` may select the neighbour of the pixel
/// that `f64` selects, if both are equally near.) Other backends read the images, change them on the host and write
/// them back.
pub fn augment(images: Tensor<4>, views: &Views) -> Tensor<4> {
    Tensor::from_dispatch(<Dispatch as AugmentationOps>::augment(images.into_dispatch(), views.clone()))
}
