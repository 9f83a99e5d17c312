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

use burn::tensor::{DType, Tensor};
use simile_kernels::product;

use super::DeviceEmbedding;
use crate::kernel::{COSINE_EPSILON, Kernel, median_rows};
use crate::numeric::distances::squared_distances;
use crate::numeric::matrix::indices;

/// Steps of the iteration beyond which nothing changes in `f32`.
const MOST_STEPS: u32 = 29;
/// Steps after which an eigenvalue of `X A` that is 1/2 is 1.
const LAST_STEPS: u32 = 5;
/// Differences of coordinates that are formed at once.
const DIFFERENCES: usize = 1 << 24;
/// Halvings of the range in which the median distance lies.
const HALVINGS: usize = 40;
/// Squared distances below this part of the largest are those of equal rows.
const NEARLY_EQUAL: f64 = 1e-5;

impl DeviceEmbedding {
    /// `(K + ridge I)^-1 K` of the rows of `z`, `[b, k]`, or that of `K` with its diagonal set to 1. The ridge is above 0, and the
    /// kernel [fits](Kernel::fits).
    pub fn from_rows(kernel: &Kernel, z: Tensor<2>, ridge: f64, unit_diagonal: bool) -> Self {
        let (b, device, dtype) = (z.dims()[0], z.device(), z.dtype());
        let identity = Tensor::<2>::eye(b, &device).cast(dtype);
        let gram = kernel.gram_on_device(z);
        let changes = unit_diagonal && !kernel.has_unit_diagonal();
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
            let rest = identity.clone() - product(a.clone(), x.clone());
            x.clone() + product(x, rest)
        });
        // Rounding leaves it a little asymmetric.
        let inverse = (inverse.clone() + inverse.transpose()) * (0.5 * ridge);
        let weights = identity.clone() - inverse;
        Self::dense(weights.clone(), (weights * identity).sum_dim(1))
    }
}

impl Kernel {
    /// The Gram matrix of the rows of a tensor, `[b, b]`, without a gradient.
    pub(crate) fn gram_on_device(&self, z: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Rbf { scale } => (squared_distances_to_others(z) * -scale.recip()).exp(),
            Self::Laplacian { scale } => (squared_distances_to_others(z).sqrt() * -scale.recip()).exp(),
            Self::MedianRbf => {
                let squares = squared_distances_to_others(z.clone());
                (squares * (median_square(z) * -2.0).recip()).exp()
            }
            Self::MedianLaplacian => {
                let squares = squared_distances_to_others(z.clone());
                (squares.sqrt() * median_square(z).sqrt().recip().neg()).exp()
            }
            Self::LaplacianL1 { gamma } => (absolute_distances(z) * -gamma).exp(),
            Self::Linear { scale } => inner_products(z) * scale.recip(),
            Self::Cosine => {
                let lengths = z.clone().powi_scalar(2).sum_dim(1).sqrt().clamp_min(COSINE_EPSILON);
                inner_products(z / lengths)
            }
            Self::Polynomial { gamma, offset, degree, scale } => {
                let degree = i32::try_from(*degree).unwrap_or(i32::MAX);
                (inner_products(z) * *gamma + *offset).powi_scalar(degree) * scale.recip()
            }
            Self::ExactMatch => {
                let dtype = z.dtype();
                absolute_distances(z).equal_elem(0.0).float().cast(dtype)
            }
            Self::Product { factors } => {
                let b = z.dims()[0];
                let of = |factor: &crate::kernel::Factor| {
                    factor.kernel.gram_on_device(z.clone().slice([0..b, factor.start..factor.end]))
                };
                let ones = Tensor::ones([b, b], (&z.device(), z.dtype()));
                factors.iter().map(of).fold(ones, |product, gram| product * gram)
            }
        }
    }

    /// True if no value is above 1 or below -1.
    fn is_at_most_one(&self) -> bool {
        match self {
            Self::Product { factors } => factors.iter().all(|factor| factor.kernel.is_at_most_one()),
            _ => self.has_unit_diagonal() || *self == Self::Cosine,
        }
    }
}

fn inner_products(z: Tensor<2>) -> Tensor<2> {
    product(z.clone(), z.transpose())
}

/// The [squared distances](squared_distances) of the rows, with a diagonal of 0; that of other equal rows is 0 up to `1e-7 |z|^2` in
/// `f32`.
fn squared_distances_to_others(z: Tensor<2>) -> Tensor<2> {
    let (b, device, dtype) = (z.dims()[0], z.device(), z.dtype());
    squared_distances(z) * (Tensor::<2>::eye(b, &device).cast(dtype).neg() + 1.0)
}

/// `|z_i - z_j|_1`, some rows at a time.
fn absolute_distances(z: Tensor<2>) -> Tensor<2> {
    let [b, columns] = z.dims();
    let rows = (DIFFERENCES / (b * columns).max(1)).clamp(1, b.max(1));
    let others = z.clone().unsqueeze_dim::<3>(0);
    let part = |start: usize| {
        let some = z.clone().slice([start..(start + rows).min(b), 0..columns]).unsqueeze_dim::<3>(1);
        (some - others.clone()).abs().sum_dim(2).squeeze_dim::<2>(2)
    };
    Tensor::cat((0..b).step_by(rows).map(part).collect(), 0)
}

/// The square of the median distance, `[1, 1]`, as [`median_distance`](crate::kernel::median_distance) defines it; 1 if
/// all rows are equal. A sort would read from the device; the range in which it lies is halved instead.
fn median_square(z: Tensor<2>) -> Tensor<2> {
    let (b, device) = (z.dims()[0], z.device());
    let squares = squared_distances_to_others(z.select(0, indices(&median_rows(b), &device)));
    let largest = squares.clone().max().reshape([1, 1]);
    // Rounding leaves a small distance between equal rows.
    let nearly_equal = squares.clone().lower(largest.clone() * NEARLY_EQUAL);
    let squares = squares.mask_fill(nearly_equal, 0.0);
    let count = |of: Tensor<2, burn::tensor::Bool>| of.float().cast(DType::F32).sum().reshape([1, 1]);
    // Each pair occurs twice.
    let positive = count(squares.clone().greater_elem(0.0));
    let equal = count(squares.clone().equal_elem(0.0));
    let up_to = (positive.clone() * 0.25).floor() * 2.0 + equal;
    let mut high = largest;
    let mut low = high.zeros_like();
    for _ in 0..HALVINGS {
        let middle = (low.clone() + high.clone()) * 0.5;
        let is_enough = count(squares.clone().lower_equal(middle.clone())).greater(up_to.clone());
        high = high.mask_where(is_enough.clone(), middle.clone());
        low = middle.mask_where(is_enough, low);
    }
    high.mask_fill(positive.equal_elem(0.0), 1.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;

    use super::super::ConditionalEmbedding;
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
                for unit in [false, true] {
                    let rows = z.to_tensor(&Device::flex(), dtype);
                    let embedding = DeviceEmbedding::from_rows(&kernel, rows.clone(), ridge, unit);
                    let expected = match unit {
                        true => ConditionalEmbedding::with_unit_diagonal(&kernel, &z, ridge),
                        false => ConditionalEmbedding::new(&kernel, &z, ridge),
                    };
                    let expected = expected.unwrap().on_device(&Device::flex(), dtype);
                    let off = |a: Tensor<2>, b: Tensor<2>| (a - b).abs().max().into_scalar::<f64>();
                    let apart = off(embedding.apply(rows.clone()), expected.apply(rows));
                    assert!(apart < allowed, "{kernel:?}, {dtype:?}, unit diagonal {unit}: {apart}");
                    assert!(
                        off(embedding.diagonal(), expected.diagonal()) < allowed,
                        "{kernel:?}, {dtype:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn equal_rows_have_the_weights_of_one_group() {
        let z = Tensor::ones([5, 3], (&Device::flex(), DType::F64));
        for kernel in [Kernel::MedianRbf, Kernel::MedianLaplacian, Kernel::ExactMatch] {
            let diagonal = DeviceEmbedding::from_rows(&kernel, z.clone(), 0.5, false).diagonal();
            assert!((diagonal - 1.0 / 5.5).abs().max().into_scalar::<f64>() < 1e-12, "{kernel:?}");
        }
    }
}
