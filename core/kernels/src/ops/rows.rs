//! Rows: unit length, softmax with log-sum-exp, and cross-entropies with target weights.

use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension, get_or_init_device_settings};
use burn::tensor::Tensor;

use super::shapes::check;
pub use crate::cpu::rows::SMALLEST_NORM;

/// Functions of whole rows that backends implement. Matrices are `[n, m]`, numbers of rows `[n, 1]`; bodies check no shapes.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait RowOps: Backend {
    /// Rows divided by their lengths, and the reciprocals of the lengths; both are 0 for rows whose entries are all at most
    /// [`SMALLEST_NORM`] in size.
    #[fusion(meta = |x| (x.clone(), fused::column_of(x)))]
    fn unit_rows(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        plain_unit_rows::<Self>(x)
    }

    /// `(g - (g . u) u) scale` from unit rows, reciprocals of lengths and the gradient with respect to the unit rows.
    #[fusion(dtype = gradient, shape = gradient)]
    fn unit_rows_backward(
        unit: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        plain_unit_rows_backward::<Self>(unit, scale, gradient)
    }

    /// The softmax of each row and its log-sum-exp.
    #[fusion(default)]
    fn row_softmax(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        plain_row_softmax::<Self>(x)
    }

    /// `(g - (g . p)) p` from the softmax and the gradient with respect to it.
    #[fusion(default)]
    fn row_softmax_backward(softmax: FloatTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        plain_row_softmax_backward::<Self>(softmax, gradient)
    }

    /// `sum_k -q_ik log softmax_k(scores_i / temperature)`, and its gradient with respect to `scores / temperature`.
    #[fusion(default)]
    fn soft_cross_entropy(
        scores: FloatTensor<Self>,
        targets: FloatTensor<Self>,
        temperature: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        plain_soft_cross_entropy::<Self>(scores, targets, temperature)
    }
}

/// Shapes of results, for fusion.
#[cfg(feature = "fusion")]
mod fused {
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    /// A number for each row.
    pub(super) fn column_of(rows: &TensorSpec) -> TensorSpec {
        TensorSpec::new(Shape::new([rows.shape[0], 1]), rows.dtype)
    }
}

/// [`RowOps::unit_rows`] in Burn's operations. Rows are first scaled to a largest entry of 1, so that no square
/// overflows.
pub(crate) fn plain_unit_rows<B: Backend>(x: FloatTensor<B>) -> (FloatTensor<B>, FloatTensor<B>) {
    let largest = B::float_max_dim(B::float_abs(x.clone()), 1);
    let dtype = get_or_init_device_settings::<B>(&largest.device()).bool_dtype;
    let zero = B::float_lower_equal_elem(largest.clone(), SMALLEST_NORM.into(), dtype);
    let fill = |x: FloatTensor<B>, value: f64| fill::<B>(x, zero.clone(), value);
    let largest = fill(largest, 1.0);
    let rows = B::float_div(x, largest.clone());
    let squares = B::float_sum_dim(B::float_mul(rows.clone(), rows.clone()), 1);
    let length = fill(B::float_sqrt(squares), 1.0);
    let unit = B::float_mul(rows, fill(B::float_recip(length.clone()), 0.0));
    let scale = fill(B::float_recip(B::float_mul(largest, length)), 0.0);
    (unit, scale)
}

fn fill<B: Backend>(x: FloatTensor<B>, mask: BoolTensor<B>, value: f64) -> FloatTensor<B> {
    B::float_mask_fill(x, mask, value.into())
}

/// [`RowOps::unit_rows_backward`] in Burn's operations.
pub(crate) fn plain_unit_rows_backward<B: Backend>(
    unit: FloatTensor<B>,
    scale: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let radial = B::float_sum_dim(B::float_mul(gradient.clone(), unit.clone()), 1);
    B::float_mul(B::float_sub(gradient, B::float_mul(unit, radial)), scale)
}

/// [`RowOps::row_softmax`] in Burn's operations. Backends fuse softmax, so the log-sum-exp is computed from it: at
/// the largest `x` of a row, `softmax = exp(x - lse)`, hence `lse = x - log softmax`, and that softmax is at least
/// `1 / columns`.
pub(crate) fn plain_row_softmax<B: Backend>(x: FloatTensor<B>) -> (FloatTensor<B>, FloatTensor<B>) {
    let largest = B::float_max_dim(x.clone(), 1);
    let softmax = B::softmax(x, 1);
    let log_sum = B::float_sub(largest, B::float_log(B::float_max_dim(softmax.clone(), 1)));
    (softmax, log_sum)
}

/// [`RowOps::row_softmax_backward`] in Burn's operations.
pub(crate) fn plain_row_softmax_backward<B: Backend>(
    softmax: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let mean = B::float_sum_dim(B::float_mul(gradient.clone(), softmax.clone()), 1);
    B::float_mul(B::float_sub(gradient, mean), softmax)
}

/// [`RowOps::soft_cross_entropy`] in Burn's operations.
pub(crate) fn plain_soft_cross_entropy<B: Backend>(
    scores: FloatTensor<B>,
    targets: FloatTensor<B>,
    temperature: f64,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let logits = B::float_div_scalar(scores, temperature.into());
    let agreed = B::float_sum_dim(B::float_mul(logits.clone(), targets.clone()), 1);
    let mass = B::float_sum_dim(targets.clone(), 1);
    let (softmax, log_sum) = plain_row_softmax::<B>(logits);
    let losses = B::float_sub(B::float_mul(mass.clone(), log_sum), agreed);
    (losses, B::float_sub(B::float_mul(softmax, mass), targets))
}

/// Divides each row of `x`, `[n, m]`, by its Euclidean length `|x|`. Returns the unit rows and the reciprocals of the
/// lengths, `[n, 1]`; both are 0, and so is the gradient, for rows whose entries are all at most [`SMALLEST_NORM`] in size.
///
/// Cost: `5 n m` operations. The CPU's body reads and writes each entry once, `8 n m` bytes, in place if no other
/// tensor shares `x`; CubeCL's, one kernel for `f32`, moves `16 n m`; plain operations about `40 n m`.
pub fn unit_rows(x: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let (unit, scale) = <Dispatch as RowOps>::unit_rows(x.into_dispatch());
    (Tensor::from_dispatch(unit), Tensor::from_dispatch(scale))
}

/// Converts a gradient with respect to the unit rows `u` of [`unit_rows`] into one of the original rows, `(g - (g .
/// u) u) / |x|`, for a gradient that is derived by hand. All shapes as there.
///
/// Cost: `5 n m` operations. The CPU's body moves `12 n m` bytes, in place if no other tensor shares the gradient;
/// CubeCL's, one kernel for `f32`, `20 n m`; plain operations about `48 n m`.
///
/// # Panics
/// The gradient has not the shape of the unit rows, or there is not one scale a row.
pub fn pull_back_unit_rows(unit: Tensor<2>, scale: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
    let (of_unit, of_scale, given) = (unit.dims(), scale.dims(), gradient.dims());
    check("pull_back_unit_rows", given == of_unit && of_scale == [of_unit[0], 1], || {
        format!("Unit rows {of_unit:?}, scales {of_scale:?} and a gradient {given:?} do not fit each other.")
    });
    Tensor::from_dispatch(<Dispatch as RowOps>::unit_rows_backward(
        unit.into_dispatch(),
        scale.into_dispatch(),
        gradient.into_dispatch(),
    ))
}

/// The log-sum-exp of each row with the softmax that is its gradient.
#[derive(Debug, Clone)]
pub struct RowSoftmax {
    /// `log sum_j exp x_ij`, `[n]`.
    pub log_sum: Tensor<1>,
    /// `exp(x_ij - log_sum_i)`, `[n, m]`.
    pub softmax: Tensor<2>,
}

impl RowSoftmax {
    /// The log-sum-exp and softmax of `x`, `[n, m]`. Both carry gradients.
    ///
    /// Cost: about `20 n m` operations, most of them exponentials. The CPU's body has a relative error of 3e-7 and
    /// is 0 below `exp(-87)`; it moves `8 n m` bytes, in place if no other tensor shares `x`; plain operations
    /// about `40 n m`.
    pub fn new(x: Tensor<2>) -> Self {
        let (softmax, log_sum) = <Dispatch as RowOps>::row_softmax(x.into_dispatch());
        let log_sum = Tensor::<2>::from_dispatch(log_sum).squeeze_dim(1);
        Self { log_sum, softmax: Tensor::from_dispatch(softmax) }
    }
}

/// The cross-entropy of each row with target weights, and its gradient.
#[derive(Debug, Clone)]
pub struct SoftCrossEntropy {
    /// `sum_k -q_ik log softmax_k(s_i / temperature)`, `[n]`.
    pub losses: Tensor<1>,
    /// The gradient of each loss with respect to `s / temperature`, `sum_k q_ik softmax - q`, `[n, m]`. A constant.
    pub grad_logits: Tensor<2>,
}

impl SoftCrossEntropy {
    /// The losses of scores `s` under target weights `q`, both `[n, m]`. Weights need not sum to 1, and carry no
    /// gradient.
    ///
    /// Cost: about `25 n m` operations. The CPU's body moves `12 n m` bytes, in place if no other tensor shares the
    /// scores; plain operations about `90 n m`.
    ///
    /// # Panics
    /// Scores and weights differ in shape.
    pub fn new(scores: Tensor<2>, targets: Tensor<2>, temperature: f64) -> Self {
        let (of_scores, of_targets) = (scores.dims(), targets.dims());
        check("SoftCrossEntropy", of_targets == of_scores, || {
            format!("The weights must have the shape of the scores: {of_scores:?}, not {of_targets:?}.")
        });
        let (losses, grad_logits) = <Dispatch as RowOps>::soft_cross_entropy(
            scores.into_dispatch(),
            targets.into_dispatch(),
            temperature,
        );
        let losses = Tensor::<2>::from_dispatch(losses).squeeze_dim(1);
        Self { losses, grad_logits: Tensor::from_dispatch(grad_logits) }
    }
}
