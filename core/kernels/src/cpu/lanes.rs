//! Adjacent channels of one position, as many as a vector of the processor holds.
//!
//! They are for transforms that the compiler does not vectorise, because these work on small arrays of such vectors.

use std::ops::{Add, Mul, Sub};

use pulp::Simd;

/// A number of channels or places that is a multiple of the vector length of every processor.
pub(crate) const LANES: usize = 16;

/// Values that are processed together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes<S: Simd> {
    simd: S,
    values: S::f32s,
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    pub(crate) fn zero(simd: S) -> Self {
        Self { simd, values: simd.splat_f32s(0.0) }
    }

    /// The first values of a slice that is long enough; zeros otherwise.
    #[inline(always)]
    pub(crate) fn load(simd: S, values: &[f32]) -> Self {
        match S::as_simd_f32s(values) {
            ([values, ..], _) => Self { simd, values: *values },
            _ => Self::zero(simd),
        }
    }

    /// Writes to the first values of a slice that is long enough.
    #[inline(always)]
    pub(crate) fn store(self, target: &mut [f32]) {
        if let ([target, ..], _) = S::as_mut_simd_f32s(target) {
            *target = self.values;
        }
    }
}

impl<S: Simd> Add for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { values: self.simd.add_f32s(self.values, other.values), ..self }
    }
}

impl<S: Simd> Sub for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { values: self.simd.sub_f32s(self.values, other.values), ..self }
    }
}

impl<S: Simd> Mul<f32> for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f32) -> Self {
        Self { values: self.simd.mul_f32s(self.values, self.simd.splat_f32s(factor)), ..self }
    }
}
