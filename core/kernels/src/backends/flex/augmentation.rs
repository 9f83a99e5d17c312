use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn_flex::FlexTensor;

use super::memory::{into_floats, is_f32, tensor};
use crate::AugmentationOps;
use crate::cpu::augment::{Views, augment};
use crate::ops::augmentation::{augment_data, sides, views_shape};

impl AugmentationOps for Flex {
    fn augment(images: FloatTensor<Self>, views: Views) -> FloatTensor<Self> {
        let (shape, dtype) = (images.layout().shape().clone(), images.dtype());
        if !is_f32(&images) {
            return FlexTensor::from_data(augment_data(Some(images.into_data()), &shape, dtype, &views));
        }
        tensor(augment(into_floats(images), sides(&shape), &views), views_shape(&shape, &views))
    }
}
