//! The kernel conditional embedding operator of CCL-K, and the centroid estimator of Decoupled Uniformity: both are
//!
//! ```text
//! W = (K_Z + ridge I)^-1 K_Z = I - ridge (K_Z + ridge I)^-1
//! ```
//!
//! with `ridge = lambda` in CCL-K (its KCEO) and in the released code of both works, and `ridge = b lambda` on the
//! poster of Decoupled Uniformity. `W` carries no gradient: it depends on the conditioning variable only. It is
//! computed on the host in `f64`, or on the device of a conditioning variable that lies there.
//!
//! | scheme | Gram matrix | weights |
//! |---|---|---|
//! | [`WeightScheme::Paper`] | unchanged | unchanged, with the diagonal and negative entries (paper) |
//! | [`WeightScheme::Released`] | diagonal set to 1 | diagonal 0, entries below `clip_threshold` set to 0, not renormalised (released) |
//! | [`WeightScheme::Normalised`] | unchanged | diagonal and negative entries 0, each row divided by its sum (ours) |
//!
//! [`WeakSupCclk`](crate::loss::WeakSupCclk) keeps the diagonal in the normalised scheme, and divides by the sum with it.
//!
//! [`ConditionWeights`] is `W` itself on the host, [`WeightScheme::weights`] gives the weights that a scheme makes from it, and
//! [`WeightProduct`] only multiplies rows by `W`, on their device:
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use simile_core::kernel::Kernel;
//! use simile_core::kernel::conditional::{ConditionWeights, GramDiagonal, WeightProduct, WeightScheme};
//! use simile_core::numeric::matrix::Matrix;
//!
//! # fn main() -> simile_core::error::Result<()> {
//! let age = Matrix::column(&[20.0, 21.0, 60.0]);
//! let (kernel, ridge) = (Kernel::rbf(5.0), 0.01);
//!
//! let operator = ConditionWeights::solve(&kernel, &age, ridge, GramDiagonal::OfKernel)?.to_matrix();
//! assert!(operator[(0, 1)] > 0.1 && operator[(0, 2)].abs() < 1e-6);
//!
//! // Rows of sum 1. The last argument is `clip_threshold`, which the released scheme alone reads.
//! let shares = WeightScheme::Normalised.weights(&kernel, &age, ridge, 1e-6)?;
//! assert!(shares[(0, 1)] > 0.99);
//!
//! let rows = Tensor::<2>::from_data([[1.0, 0.0], [3.0, 0.0], [0.0, 5.0]], &Device::flex());
//! let of_like_ages = WeightProduct::new(&kernel, &age, ridge, &rows)?.apply(rows)?;
//! assert_eq!(of_like_ages.dims(), [3, 2]);
//! # Ok(())
//! # }
//! ```
//!
//! `W` is computed by the first row whose condition holds. The first three rows apply to batches of any size with a ridge above 0, the
//! others to more than 1024 samples; smaller batches for which none of the three holds are solved densely. The error `|W - W_exact|_2`
//! is known ([`ConditionWeights::approximation_error`]).
//!
//! | if | `W` | error |
//! |---|---|---|
//! | the kernel is `exact-match` | `1 / (n + ridge)` between the `n` samples of one value | rounding |
//! | `K` has fewer features than samples, or at most 512 and `tr K >= 1e8 ridge` | from the features, `b r^2` work | rounding in `f64` |
//! | the kernel is a product of `exact-match` and one kernel with fewer features than samples, or at most 512 | from the features of the samples of each value | rounding in `f64`; if `W` is large and not of low rank, the largest of the values', and `2^-24 sqrt(n)` |
//! | at most half of the rows of `z` are distinct | one system of the distinct rows | rounding in `f64` |
//! | the kernel is a product with `exact-match`, no value of which has more than half of the samples | the systems of its values | the largest of theirs, and `2^-24 sqrt(n)` |
//! | `tr(K - L L^T) <= 1e-6 ridge` for a Cholesky factor `L` of 128 columns with pivoting | `(L L^T + ridge I)^-1 L L^T` | `<= 1e-6` |
//! | otherwise | `A = K + ridge I` is eliminated: the 128 pivots in `f64`, `S = A_RR - A_RP A_PP^-1 A_PR` of the others in `f32` | ten times an estimate from eight random products, at most 0.05 |
//! | that bound is not met, or the ridge is 0 | dense | rounding in `f64` |
//!
//! For 700 samples with three columns without order, ridges of 0.01 and 1, and RBF, Laplacian and product kernels of several
//! bandwidths, tests compare the elimination with the dense solve: the Frobenius norm of the difference stays below its bound
//! and below 1e-3.
//!
//! The normalised scheme is a conditional distribution over the other samples. The paper derives the operator as an
//! estimate of such a distribution; the scheme avoids the negative probabilities that a finite batch gives.

mod accuracy;
mod blocks;
mod by_features;
mod by_value;
mod dense;
mod dense_f32;
mod device;
mod elimination;
mod forecast;
mod groups;
mod isolated;
mod newton_schulz;
mod rescaled;
mod routes;
mod solved_condition;
mod system;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tiles;
mod unit_diagonal;
mod weight_product;
mod weight_scheme;
mod weights;

pub(crate) use accuracy::Accuracy;
pub use device::DeviceWeights;
pub use forecast::DenseSolve;
pub(crate) use forecast::Forecast;
pub use solved_condition::SolvedCondition;
pub use unit_diagonal::GramDiagonal;
pub use weight_product::{HostWeightProduct, WeightProduct};
pub use weight_scheme::WeightScheme;
pub use weights::ConditionWeights;
