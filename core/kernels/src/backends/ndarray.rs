//! Burn's older CPU backend takes the default bodies.
#![allow(deprecated, reason = "Burn 0.22 retires this backend and still has it")]

use burn::backend::NdArray;

use crate::ActivationOps;

impl ActivationOps for NdArray {}
