//! Random views of a batch of images.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension};
use burn::tensor::{DType, Shape, Tensor, TensorData, try_read_sync};

use crate::cpu::augment::{Sides, Views, augment as in_memory};

/// Views of a batch of images, as each is described by a few numbers.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
pub trait AugmentationOps: Backend {
    /// The views of `[n, channels, height, width]`.
    ///
    /// No plain form is sensible: in tensor operations every image would need dense matrices of its own. So the default body
    /// reads the images, makes the views in `f32` in the host's memory and writes them back.
    #[fusion(dtype = images, shape = of_views(images, views))]
    fn augment(images: FloatTensor<Self>, views: Views) -> FloatTensor<Self> {
        let (shape, dtype, device) = (images.shape(), images.dtype(), images.device());
        let data = try_read_sync(Self::float_into_data(images)).and_then(Result::ok);
        Self::float_from_data(of_data(data, &shape, dtype, &views), &device)
    }
}

/// The views of images as data; black ones of images that could not be read.
pub(crate) fn of_data(images: Option<TensorData>, shape: &Shape, dtype: DType, views: &Views) -> TensorData {
    let values = images.and_then(|images| images.convert::<f32>().try_into_vec().ok());
    let values = values.unwrap_or_else(|| vec![0.0; shape.num_elements()]);
    let found = in_memory(values, sides(shape), views);
    TensorData::new(found, of_views(shape, views)).convert_dtype(dtype)
}

/// The sides of images of this shape.
pub(crate) fn sides(images: &Shape) -> Sides {
    let [_, channels, height, width] = images.dims();
    Sides { channels, height, width }
}

/// The shape of the views of images of this shape.
pub(crate) fn of_views(images: &Shape, views: &Views) -> Shape {
    let [n, channels, ..] = images.dims::<4>();
    Shape::new([n, channels, views.size[0], views.size[1]])
}

/// Views of images (`[n, channels, height, width]`, 0 to 1, channels red, green and blue where colours change): what each is
/// made by comes in, pixels come out, `[n, channels, views.size]`. Steps, in this order:
///
/// ```text
/// window, resampled      v(i, j) = Σ w_ik w_jl x(k, l),  weights of Filter, cut to 0..1 after each sum of a cubic
/// rotation               the nearest pixel, black outside
/// horizontal flip
/// brightness, contrast, saturation, hue in an order of their own; grey
/// Gaussian blur          reflected at the border
/// ```
///
/// They are torchvision's, and so are the results for given numbers, within 2/255. There must be a view for each image, whose
/// window lies in it; a blur must reach less far than the sides of the views. The result is a constant: gradients do not
/// pass.
///
/// Cost: a few operations a pixel and step; besides the images about 100 bytes each and 4 a weight of the blur go to a device.
/// The CPU has a body of its own, image by image in its cache; CubeCL one in one to four kernels, whose numbers are the same
/// to rounding. (A rotation in `f32` may take the neighbour of a pixel that `f64` takes, where both are equally near.)
/// Elsewhere the images are read, changed on the host and written back.
pub fn augment(images: Tensor<4>, views: &Views) -> Tensor<4> {
    Tensor::from_dispatch(<Dispatch as AugmentationOps>::augment(images.into_dispatch(), views.clone()))
}
