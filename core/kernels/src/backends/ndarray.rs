//! Burn's older CPU backend uses the default bodies.
#![allow(deprecated, reason = "Burn 0.22 retires this backend and still has it")]

use burn::backend::NdArray;

use crate::{
    ActivationOps, AugmentationOps, ConvolutionOps, NormalisationOps, PairOps, RedundancyOps, RowOps,
    SinkhornOps, UniformityOps,
};

impl ActivationOps for NdArray {}
impl RedundancyOps for NdArray {}
impl RowOps for NdArray {}
impl SinkhornOps for NdArray {}
impl AugmentationOps for NdArray {}
impl NormalisationOps for NdArray {}
impl ConvolutionOps for NdArray {}
impl PairOps for NdArray {}
impl UniformityOps for NdArray {}
