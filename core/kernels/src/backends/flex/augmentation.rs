use std::borrow::Cow;

use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn_flex::FlexTensor;

use super::memory::{contiguous, floats, into_floats, is_f32, tensor};
use crate::AugmentationOps;
use crate::cpu::augment::{Views, augment};
use crate::ops::augmentation::{augment_data, sides, views_shape};

impl AugmentationOps for Flex {
    fn augment(images: FloatTensor<Self>, views: Views) -> FloatTensor<Self> {
        let (shape, dtype) = (images.layout().shape().clone(), images.dtype());
        if !is_f32(&images) {
            return FlexTensor::from_data(augment_data(Some(images.into_data()), &shape, dtype, &views));
        }
        let sides = sides(&shape);
        let views_of = |images| tensor(augment(images, sides, &views), views_shape(&shape, &views));
        if views.size == [sides.height, sides.width] {
            views_of(Cow::Owned(into_floats(images)))
        } else {
            views_of(Cow::Borrowed(floats(&contiguous(images))))
        }
    }
}
