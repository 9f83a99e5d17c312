//! The constant that the released code of BiasCon and SoftCon adds to the denominator.

use burn::tensor::Tensor;

use crate::loss::objective::Variant;
use crate::loss::pairwise::log_add;
use crate::loss::views::TwoViews;

/// Constant that the released code adds inside the logarithm.
const RELEASED_EPSILON: f64 = 1e-9;

/// The logarithm of the denominator, from that of the sum over all rows but the anchor, `[anchors]`. Released code adds 1e-9 after it
/// divided by the largest term of the row, which is that of the anchor with itself: `exp(1/temperature)`, or 1 for a row of zeros.
pub(super) fn log_denominator(
    variant: Variant,
    others: Tensor<1>,
    views: &TwoViews,
    temperature: f64,
) -> Tensor<1> {
    match variant {
        Variant::Paper => others,
        Variant::Released => {
            let rows = views.stacked();
            let is_zero = (rows.clone() * rows).sum_dim(1).squeeze_dim::<1>(1).lower_elem(0.5);
            let largest = others.full_like(1.0 / temperature).mask_fill(is_zero, 0.0);
            log_add(others, largest + RELEASED_EPSILON.ln())
        }
    }
}
