use burn::backend::Flex;
use burn::backend::ops::{ActivationOps as Plain, FloatTensorOps};
use burn::backend::tensor::FloatTensor;

use super::memory::{map, pair};
use crate::cpu::{exp, tanh};
use crate::ops::activation::plain_tanh_backward;
use crate::{ActivationGradients, ActivationOps};

impl ActivationOps for Flex {
    fn tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        map(x, tanh::tanh_in_place, <Self as FloatTensorOps<Self>>::float_tanh)
    }

    fn logistic(x: FloatTensor<Self>) -> FloatTensor<Self> {
        map(x, exp::sigmoid_of_slice, <Self as Plain<Self>>::sigmoid)
    }
}

impl ActivationGradients for Flex {
    fn tanh_backward(y: FloatTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        pair(y, gradient, tanh::pull_back, plain_tanh_backward::<Self>)
    }
}
