//! Objectives that weigh pairs by a kernel of their conditions.

use std::ops::RangeInclusive;

use burn::tensor::Device;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernel::conditional::{ConditionWeights, DenseSolve, GramDiagonal, SolvedCondition};
use crate::numeric::matrix::Matrix;

/// An objective with the weights `W = (K + r I)⁻¹ K` of a kernel `K` of the condition `z` of a batch. They depend on nothing else, so
/// that another thread can solve for them before the step, with the same numbers.
pub trait ConditionedByKernel {
    /// The kernel `K` that compares conditions.
    fn kernel(&self) -> &Kernel;

    /// The diagonal of `K`.
    fn gram_diagonal(&self) -> GramDiagonal {
        GramDiagonal::OfKernel
    }

    /// The ridge `r` of the weights `(K + r I)⁻¹ K` of `samples` samples, as it is added to the diagonal of `K`: `lambda` of CCL-K,
    /// and of [`KernelDecoupledUniformity`](crate::loss::KernelDecoupledUniformity) `lambda * samples` as printed, `lambda` as released.
    fn ridge(&self, samples: usize) -> f64;

    /// `W = (K + r I)⁻¹ K` of the rows of `z`, with the objective's approximation, before its form clips or divides.
    ///
    /// # Errors
    /// As [`Objective::evaluate`](crate::loss::Objective::evaluate) for such a `z`.
    fn weights(&self, z: &Matrix) -> Result<ConditionWeights>;

    /// Solves for the rows of `z`, for embeddings on a device. [`Batch::with_solution`](crate::loss::batch::Batch::with_solution) takes
    /// the result.
    ///
    /// # Errors
    /// As [`Objective::evaluate`](crate::loss::Objective::evaluate) for such a `z`.
    fn solve(&self, z: &Matrix, device: &Device) -> Result<SolvedCondition>;

    /// The numbers that `W` of `samples` samples occupies on its device, the least and the most, because the values of the condition
    /// are not known yet.
    fn stored_numbers(&self, samples: usize) -> RangeInclusive<u64>;

    /// Whether more than 1024 samples need a dense solve, if `z` has `columns` columns: rarely, depending on the values of `z`, or
    /// always.
    fn dense_solve(&self, samples: usize, columns: usize) -> DenseSolve;
}
