//! `W` from conditioning values that lie on a device, by operations of the device, so that nothing is read from it.
//!
//! The inverse of `A = K + ridge I` is that of the iteration of Newton and Schulz,
//!
//! ```text
//! X <- X + X (I - A X),   X_0 = I / |A|_inf
//! ```
//!
//! (Higham, *Functions of Matrices*, 2008, section 7.3, for the history), whose residual squares with every step. As the eigenvalues of
//! `A` lie between the ridge and `|A|_inf`, `log2(|A|_inf / ridge) + 5` steps reduce it below 1e-13; as many are taken as the largest
//! possible `|K|_inf` asks for, and at most 29, beyond which `f32` has no digits. A Gram matrix whose diagonal is set to 1
//! can be indefinite; then `X_0 = A / |A|_inf^2`, and the number of steps is twice as large.
//!
//! In `f32` the error of `W` is about `6e-8 |A|_inf / ridge`. A singular matrix gives weights that are not finite, which
//! ends a run as a loss that is not finite does.

use burn::tensor::Tensor;
use simile_kernels::gemm;

use super::device::DeviceWeights;
use super::unit_diagonal::GramDiagonal;
use crate::kernel::Kernel;

/// Steps of the iteration beyond which nothing changes in `f32`.
const MOST_STEPS: u32 = 29;
/// Steps after which an eigenvalue of `X A` that is 1/2 is 1.
const LAST_STEPS: u32 = 5;

impl DeviceWeights {
    /// `(K + ridge I)^-1 K` of the rows of `z`, `[b, k]`, or that of `K` with its diagonal set to 1. The ridge is above 0, and the
    /// kernel passes its [check](Kernel::check) and [fits](Kernel::fits).
    pub fn from_rows(kernel: &Kernel, z: Tensor<2>, ridge: f64, diagonal: GramDiagonal) -> Self {
        let (b, device, dtype) = (z.dims()[0], z.device(), z.dtype());
        let identity = Tensor::<2>::eye(b, &device).cast(dtype);
        let gram = kernel.gram_on_device(z);
        let changes = diagonal.changes(kernel);
        let gram = match changes {
            true => gram * (identity.clone().neg() + 1.0) + identity.clone(),
            false => gram,
        };
        let a = gram + identity.clone() * ridge;
        let most = a.clone().abs().sum_dim(1).max().reshape([1, 1]).recip();
        let condition = kernel.is_at_most_one().then_some(b as f64 / ridge + 1.0);
        let steps = condition.map_or(MOST_STEPS, |c| (c.log2().ceil() as u32 + LAST_STEPS).min(MOST_STEPS));
        let (start, steps) = match changes {
            true => (a.clone() * most.clone() * most, 2 * steps),
            false => (identity.clone() * most, steps),
        };
        let inverse = (0..steps).fold(start, |x, _| {
            let rest = identity.clone() - gemm(a.clone(), x.clone());
            x.clone() + gemm(x, rest)
        });
        // Rounding leaves it a little asymmetric.
        let inverse = (inverse.clone() + inverse.transpose()) * (0.5 * ridge);
        let weights = identity.clone() - inverse;
        Self::dense(weights.clone(), (weights * identity).sum_dim(1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::super::weights::ConditionWeights;
    use super::*;
    use crate::numeric::matrix::Matrix;

    #[test]
    fn operations_of_a_device_give_what_the_host_solves() {
        let z = Matrix::from_fn(40, 4, |i, j| ((i * i * (5 + j) + 7 * i + 3 * j) % 23) as f64 / 11.0 - 0.9);
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": "median"}},
            {"start": 2, "end": 4, "kernel": {"name": "laplacian", "sigma": 3}}]}"#;
        for kernel in [
            Kernel::rbf(0.8),
            Kernel::Laplacian { scale: 1.5 },
            Kernel::MedianRbf,
            Kernel::MedianLaplacian,
            Kernel::LaplacianL1 { gamma: 0.7 },
            Kernel::Linear { scale: 2.0 },
            Kernel::Cosine,
            Kernel::Polynomial { gamma: 1.0, offset: 1.0, degree: 2, scale: 4.0 },
            Kernel::ExactMatch,
            serde_json::from_str(product).unwrap(),
        ] {
            for (dtype, ridge, allowed) in [(DType::F64, 0.1, 1e-6), (DType::F32, 1.0, 2e-3)] {
                for diagonal in [GramDiagonal::OfKernel, GramDiagonal::One] {
                    let rows = z.to_tensor(&Device::flex(), dtype);
                    let weights = DeviceWeights::from_rows(&kernel, rows.clone(), ridge, diagonal);
                    let expected = ConditionWeights::solve(&kernel, &z, ridge, diagonal);
                    let expected = expected.unwrap().on_device(&Device::flex(), dtype);
                    let off = |a: Tensor<2>, b: Tensor<2>| (a - b).abs().max().into_scalar::<f64>();
                    let apart = off(weights.apply(rows.clone()), expected.apply(rows));
                    assert!(apart < allowed, "{kernel:?}, {dtype:?}, {diagonal:?}: {apart}");
                    assert!(off(weights.diagonal(), expected.diagonal()) < allowed, "{kernel:?}, {dtype:?}");
                }
            }
        }
    }

    #[test]
    fn equal_rows_have_the_weights_of_one_group() {
        let z = Tensor::ones([5, 3], (&Device::flex(), DType::F64));
        for kernel in [Kernel::MedianRbf, Kernel::MedianLaplacian, Kernel::ExactMatch] {
            let diagonal =
                DeviceWeights::from_rows(&kernel, z.clone(), 0.5, GramDiagonal::OfKernel).diagonal();
            assert!((diagonal - 1.0 / 5.5).abs().max().into_scalar::<f64>() < 1e-12, "{kernel:?}");
        }
    }
}
