//! Sixteen channels of one place, which the compiler keeps in vector registers.

use std::ops::{Add, Mul, Sub};

/// Channels side by side.
pub(crate) const LANES: usize = 16;

/// Values that are changed alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);

    #[inline(always)]
    pub(crate) fn from_fn(value: impl FnMut(usize) -> f32) -> Self {
        Self(std::array::from_fn(value))
    }

    /// The first values of a slice that has enough of them; zeros otherwise.
    #[inline(always)]
    pub(crate) fn load(values: &[f32]) -> Self {
        values.first_chunk().map_or(Self::ZERO, |values| Self(*values))
    }

    /// Into the first places of a slice that has enough of them.
    #[inline(always)]
    pub(crate) fn store(self, target: &mut [f32]) {
        if let Some(target) = target.first_chunk_mut() {
            *target = self.0;
        }
    }
}

impl Add for Lanes {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::from_fn(|lane| self.0[lane] + other.0[lane])
    }
}

impl Sub for Lanes {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::from_fn(|lane| self.0[lane] - other.0[lane])
    }
}

impl Mul<f32> for Lanes {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f32) -> Self {
        Self::from_fn(|lane| self.0[lane] * factor)
    }
}
