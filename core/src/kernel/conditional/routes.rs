//! The ways to `W`, in the order in which they are tried; the table of the [folder](super) compares them. A way that is added here is
//! to be added to the [forecast](super::forecast) too.

use super::accuracy::Accuracy;
use super::blocks;
use super::by_features::features_to_solve;
use super::by_value::FeaturesByValue;
use super::dense::solve_dense;
use super::elimination;
use super::groups::GroupWeights;
use super::system::check_system;
use super::unit_diagonal::GramDiagonal;
use super::weights::{ConditionWeights, Storage};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, LowRank};
use crate::numeric::matrix::Matrix;

impl ConditionWeights {
    /// `W = (K + ridge I)^-1 K` for the `b` rows of `z`, by the method in the table of the [module](super); if the diagonal of `K` is
    /// set to 1 and was not 1 before, by features or densely.
    ///
    /// # Cost
    /// `b r^2` multiply-adds with `r` features of the kernel, else up to about `b^3`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the ridge is negative, a number of the kernel is out of range, or it reads columns that do not exist;
    /// [`Error::NotFinite`] or [`Error::TooLarge`] for a value of `z`; [`Error::Degenerate`] if `K + ridge I` is singular, or too badly
    /// scaled to tell.
    pub fn solve(kernel: &Kernel, z: &Matrix, ridge: f64, diagonal: GramDiagonal) -> Result<Self> {
        check_system(kernel, z, ridge)?;
        match diagonal.changes(kernel) {
            true => Self::with_unit_diagonal(kernel, z, ridge),
            false => Self::with_own_diagonal(kernel, z, ridge),
        }
    }

    /// `W` of a kernel as it is.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), which has checked kernel, `z` and ridge.
    pub(super) fn with_own_diagonal(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        match Self::by_features(kernel, z, ridge)? {
            Some(weights) => Ok(weights),
            None => Self::by_samples(kernel, z, ridge),
        }
    }

    /// `W` from features of all samples, or of those of each value; `None` if the system of the samples is to be solved.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub(super) fn by_features(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Option<Self>> {
        if ridge <= 0.0 {
            return Ok(None);
        }
        if let Some(features) = features_to_solve(kernel, z, ridge) {
            return Self::from_features(&features, ridge).map(|weights| Some(weights.dense_if_small()));
        }
        FeaturesByValue::of(kernel, z).map(|by_value| by_value.solve(ridge)).transpose()
    }

    /// `W` where no [features](Self::by_features) are solved.
    pub(super) fn by_samples(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        if *kernel == Kernel::ExactMatch && ridge > 0.0 {
            return Ok(Self::exact(Storage::Groups(GroupWeights::exact_match(z, ridge))).dense_if_small());
        }
        if let Some(weights) = blocks::solve(kernel, z, ridge)? {
            return Ok(weights);
        }
        match elimination::solve(kernel, z, ridge)? {
            Some(weights) => Ok(weights),
            None => Ok(Self::exact(Storage::Dense(solve_dense(&kernel.gram(z), ridge)?))),
        }
    }

    /// `(L L^T + ridge I)^-1 L L^T` for a [low-rank factor](Kernel::low_rank) of `K`: `b r^2` work for any kernel.
    ///
    /// With the trace error `e` of the factor, `|W - (K + ridge I)^-1 K|_2 <= e / ridge`. There is no such bound if the diagonal of
    /// `K` is set to 1 and was not 1 before.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the ridge is not above 0, [`Error::Degenerate`] if `K + ridge I` is close to singular.
    pub fn from_low_rank(factor: &LowRank, ridge: f64, diagonal: GramDiagonal) -> Result<Self> {
        if !ridge.is_finite() || ridge <= 0.0 {
            return Err(Error::parameter("lambda", ridge, "expected a finite ridge above 0"));
        }
        match diagonal {
            GramDiagonal::OfKernel => {
                let weights = Self::from_features(factor.factor(), ridge)?;
                Ok(Self { accuracy: Accuracy::Within(factor.trace_error() / ridge), ..weights })
            }
            GramDiagonal::One => Self::low_rank_with_unit_diagonal(factor, ridge),
        }
    }
}
