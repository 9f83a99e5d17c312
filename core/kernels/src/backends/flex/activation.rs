use burn::backend::Flex;
use burn::backend::ops::{ActivationOps as Plain, FloatTensorOps};
use burn::backend::tensor::FloatTensor;

use super::memory::{contiguous, floats, in_place, is_f32};
use crate::cpu::{exp, tanh};
use crate::ops::activation::plain_tanh_backward;
use crate::{ActivationGradients, ActivationOps};

impl ActivationOps for Flex {
    fn tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if !is_f32(&x) {
            return <Self as FloatTensorOps<Self>>::float_tanh(x);
        }
        in_place(x, tanh::tanh_in_place).0
    }

    fn logistic(x: FloatTensor<Self>) -> FloatTensor<Self> {
        if !is_f32(&x) {
            return <Self as Plain<Self>>::sigmoid(x);
        }
        in_place(x, exp::logistic).0
    }
}

impl ActivationGradients for Flex {
    fn tanh_backward(y: FloatTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        if !is_f32(&y) || !is_f32(&gradient) {
            return plain_tanh_backward::<Self>(y, gradient);
        }
        let y = contiguous(y);
        in_place(gradient, |gradient| tanh::tanh_backward(floats(&y), gradient)).0
    }
}
