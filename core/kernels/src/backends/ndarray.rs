//! Burn's older CPU backend uses the default bodies but for one.
#![allow(deprecated, reason = "Burn 0.22 retires this backend and still has it")]

use burn::backend::NdArray;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;

use crate::{
    ActivationGradients, ActivationOps, AugmentationOps, ConvolutionGradients, ConvolutionOps, GemmOps,
    NormalisationGradients, NormalisationOps, PairOps, RedundancyOps, RowOps, SinkhornOps, UniformityOps,
};

impl ActivationOps for NdArray {
    /// Burn's own rounds `f64` to `f32`.
    fn logistic(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let falls = Self::float_exp(Self::float_neg(x));
        Self::float_recip(Self::float_add_scalar(falls, 1.0.into()))
    }
}

impl ActivationGradients for NdArray {}
impl RedundancyOps for NdArray {}
impl RowOps for NdArray {}
impl SinkhornOps for NdArray {}
impl AugmentationOps for NdArray {}
impl NormalisationOps for NdArray {}
impl NormalisationGradients for NdArray {}
impl ConvolutionOps for NdArray {}
impl ConvolutionGradients for NdArray {}
impl PairOps for NdArray {}
impl GemmOps for NdArray {}
impl UniformityOps for NdArray {}
