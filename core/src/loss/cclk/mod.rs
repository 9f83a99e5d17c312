//! Conditional Contrastive Learning with Kernel (Tsai et al., 2022): WeaklySup-, Fair- and HardNeg-CCLK.
//!
//! All three weigh the pairs of a batch by `W = (K_Z + lambda I)^-1 K_Z`, where `K_Z` compares the samples'
//! conditioning values `z` (see [`crate::kernel::conditional`]), and use the kernel conditional embedding estimate
//!
//! ```text
//! [K_{X⊥Y|Z}]_ii = sum_j w_ji exp(s_ij),   s_ij = cos(a_i, b_j) / temperature
//! ```
//!
//! of the kernel conditional embedding operator (KCEO) as the expected similarity of anchor `i` to samples that share its `z`. `W` is
//! a function of the symmetric `K` and symmetric itself, so row `i` of `W` stands for the column `w_ji` of the paper.
//! The sum includes `j = i`, no weight is clipped, and `lambda` is not multiplied by `b`. In Fair- and HardNeg-CCLK the estimate
//! is the denominator, in WeaklySup-CCLK the numerator.
//!
//! | variant | pairs | weights | anchors |
//! |---|---|---|---|
//! | `paper` | across views | unchanged, own pair and negative weights included | b, direction a to b |
//! | `released` | across and within views, added | diagonal of K set to 1, own pair 0, weights below 1e-6 set to 0, not renormalised; sums clamped into `[1e-7, 1e20]` | 2b, mean of both directions |
//! | `normalised` (ours) | across and within views, averaged | non-negative, rows of sum 1 | 2b, mean of both directions |
//!
//! The default is `normalised`. As printed, a finite batch gives weights of either sign, so the argument of a
//! logarithm can fall below 0, and for `lambda -> 0` with a kernel matrix of full rank `W -> I`, so that Fair-CCLK
//! becomes `log b` with no gradient. As released, clipping without renormalising makes the total weight of the
//! negatives depend on `lambda` and the bandwidth; it can be zero. Normalised rows are a conditional distribution, which the
//! estimate is meant to be: over the other samples, in WeaklySup-CCLK over all samples.

pub mod fair;
mod settings;
mod signed;
mod sums;
#[cfg(test)]
mod tests;
pub mod trainable;
pub mod weak;
mod weights_of_views;

pub use fair::{FairCclk, HardNegCclk};
pub use settings::CclkSettings;
pub use trainable::{TrainableFairCclk, TrainableKernel};
pub use weak::WeakSupCclk;

#[doc(no_inline)]
pub use crate::kernel::conditional::WeightScheme;
