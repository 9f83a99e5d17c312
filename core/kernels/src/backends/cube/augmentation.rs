use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{DType, FloatDType, TensorData};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{CubeCount, CubeDim};

use super::memory::{empty, one_each};
use crate::AugmentationOps;
use crate::cpu::augment::{Sides, Views};
use crate::cpu::resample::Filter;
use crate::cube::augment::{FOLD, PART, UNITS, ViewSizesLaunch, after_contrast, blur, view};
use crate::ops::augmentation::{sides, views_shape};

impl AugmentationOps for CubeBackend {
    fn augment(images: FloatTensor<Self>, views: Views) -> FloatTensor<Self> {
        let dtype = images.dtype;
        if dtype != DType::F32 {
            let images = Self::float_cast(images, FloatDType::F32);
            return Self::float_cast(Self::augment(images, views), dtype.into());
        }
        let images = into_contiguous(images);
        let Sides { channels, height, width } = sides(images.meta.shape());
        let output = empty(&images, views_shape(images.meta.shape(), &views), DType::F32);
        let (n, [to_height, to_width]) = (views.views.len(), views.size);
        let area = to_height * to_width;
        if n * channels * area == 0 {
            return output;
        }
        let numbers = views.numbers(height, width);
        let stride = numbers.len() / n;
        let length = [numbers.len()];
        let numbers = Self::float_from_data(TensorData::new(numbers, length), &images.device);

        let parts = area.div_ceil(PART);
        let units = CubeDim::new_1d(UNITS as u32);
        let cubes = || CubeCount::Static(parts as u32, n.min(FOLD) as u32, n.div_ceil(FOLD) as u32);
        let address = images.required_address_type().max(output.required_address_type());
        let client = images.client.clone();
        let sums = empty(&images, [n * parts], DType::F32);
        let contrast = channels == 3 && views.has_contrast();
        view::launch(
            &client,
            cubes(),
            units,
            address,
            images.into_tensor_arg(),
            numbers.clone().into_tensor_arg(),
            output.clone().into_tensor_arg(),
            sums.clone().into_tensor_arg(),
            ViewSizesLaunch { count: n, height, width, to_height, to_width, stride },
            channels,
            if views.filter == Filter::Bicubic { 2 } else { 1 },
            contrast,
        );
        if contrast {
            after_contrast::launch(
                &client,
                cubes(),
                units,
                output.required_address_type(),
                output.clone().into_tensor_arg(),
                numbers.clone().into_tensor_arg(),
                sums.into_tensor_arg(),
                n,
                area,
                stride,
            );
        }
        if views.has_blur() { blurred(output, &numbers, stride) } else { output }
    }
}

/// Views after their blur, along rows and then along columns.
fn blurred(output: CubeTensor, numbers: &CubeTensor, stride: usize) -> CubeTensor {
    let Sides { channels, height, width } = sides(output.meta.shape());
    let values = output.meta.shape().num_elements();
    let between = empty(&output, output.meta.shape().clone(), DType::F32);
    for (from, to, vertical) in [(&output, &between, false), (&between, &output, true)] {
        let (cubes, units) = one_each(&output, values);
        blur::launch(
            &output.client,
            cubes,
            units,
            output.required_address_type(),
            from.clone().into_tensor_arg(),
            numbers.clone().into_tensor_arg(),
            to.clone().into_tensor_arg(),
            values,
            channels,
            height,
            width,
            stride,
            vertical,
        );
    }
    output
}
