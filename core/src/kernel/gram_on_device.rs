//! The Gram matrix of conditioning values that lie on a device, by operations of the device, so that nothing is read from it.

use burn::tensor::{DType, Tensor};
use simile_kernels::gemm;

use super::median::median_rows;
use super::{COSINE_EPSILON, Factor, Kernel};
use crate::numeric::distances::squared_distances;
use crate::numeric::matrix::indices;

/// Differences of coordinates that are formed at once.
const DIFFERENCES: usize = 1 << 24;
/// Halvings of the range in which the median distance lies.
const HALVINGS: usize = 40;
/// Squared distances below this part of the largest are those of equal rows.
const NEARLY_EQUAL: f64 = 1e-5;

impl Kernel {
    /// The Gram matrix of the rows of a tensor, `[b, b]`, without a gradient.
    pub(super) fn gram_on_device(&self, z: Tensor<2>) -> Tensor<2> {
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
                let of = |factor: &Factor| {
                    factor.kernel.gram_on_device(z.clone().slice([0..b, factor.start..factor.end]))
                };
                let ones = Tensor::ones([b, b], (&z.device(), z.dtype()));
                factors.iter().map(of).fold(ones, |product, gram| product * gram)
            }
        }
    }

    /// True if no value is above 1 or below -1.
    pub(super) fn is_at_most_one(&self) -> bool {
        match self {
            Self::Product { factors } => factors.iter().all(|factor| factor.kernel.is_at_most_one()),
            _ => self.has_unit_diagonal() || *self == Self::Cosine,
        }
    }
}

fn inner_products(z: Tensor<2>) -> Tensor<2> {
    gemm(z.clone(), z.transpose())
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
