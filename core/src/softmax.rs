//! The log-sum-exp of each row, with the softmax that is its gradient.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};
use pulp::Arch;

use crate::host::Numbers;
use simile_kernels::cpu::exp::exp;
use simile_kernels::cpu::parallel;

use crate::host;

/// Below it the exponential leaves `f32`, and is 0 here.
const SMALLEST: f32 = -87.0;
/// Sums run in so many lanes, which the compiler keeps in vector registers.
const LANES: usize = 16;
/// Numbers in one round of the loop over rows.
const PART: usize = 1 << 14;

pub(crate) struct RowSoftmax {
    /// `log sum_j exp x_ij`, `[rows]`.
    pub(crate) log_sum: Tensor<1>,
    /// `exp(x_ij - log_sum_i)`, `[rows, columns]`.
    pub(crate) softmax: Tensor<2>,
}

impl RowSoftmax {
    /// Backends fuse softmax, so the log-sum-exp is read off it: at the largest logit `x` of a row,
    /// `softmax = exp(x - lse)`, hence `lse = x - log softmax`, and that softmax is at least
    /// `1 / columns`. On the host the loop over a row stands here, with an exponential that is quicker than Burn's.
    pub(crate) fn new(logits: Tensor<2>) -> Self {
        let (device, [rows, columns]) = (logits.device(), logits.dims());
        if host::holds(&logits) {
            return Self::on_host(Numbers::of(logits), [rows, columns], &device);
        }
        let largest = logits.clone().max_dim(1);
        let softmax = softmax(logits, 1);
        let log_sum = largest - softmax.clone().max_dim(1).log();
        Self { log_sum: log_sum.squeeze_dim(1), softmax }
    }

    fn on_host(mut logits: Numbers, [rows, columns]: [usize; 2], device: &Device) -> Self {
        let size = columns * (PART / columns.max(1)).max(1);
        let of_part = |part: &mut [f32]| part.chunks_exact_mut(columns).map(normalise).collect::<Vec<f32>>();
        let log_sum = parallel::map(logits.chunks_mut(size.max(1)), of_part).concat();
        Self { log_sum: host::tensor(log_sum, [rows], device), softmax: logits.into_tensor(device) }
    }
}

/// Puts the softmax in place of a row of logits and returns their log-sum-exp.
pub(crate) fn normalise(row: &mut [f32]) -> f32 {
    Arch::new().dispatch(|| {
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut lanes = [0.0_f32; LANES];
        let (parts, rest) = row.as_chunks_mut::<LANES>();
        for part in parts {
            for (lane, x) in lanes.iter_mut().zip(part) {
                *x = exp_or_zero(*x - largest);
                *lane += *x;
            }
        }
        let mut sum: f32 = lanes.iter().sum();
        for x in rest {
            *x = exp_or_zero(*x - largest);
            sum += *x;
        }
        let scale = sum.recip();
        row.iter_mut().for_each(|x| *x *= scale);
        largest + sum.ln()
    })
}

#[inline(always)]
fn exp_or_zero(x: f32) -> f32 {
    // NaN is not below anything and passes through, which `max` would not let it.
    let kept = exp(if x < SMALLEST { SMALLEST } else { x });
    if x < SMALLEST { 0.0 } else { kept }
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::contrast::EMPTY;

    #[test]
    fn the_loop_equals_the_softmax_of_the_backend() {
        let empty = EMPTY as f32;
        let mut logits: Vec<f32> = (0..3 * 37).map(|i| ((i * i) % 97) as f32 / 3.0 - 20.0).collect();
        logits[5..20].fill(empty);
        logits[74..].fill(empty);
        let of = |dtype| {
            let logits = host::tensor(logits.clone(), [3, 37], &Device::flex());
            let RowSoftmax { log_sum, softmax } = RowSoftmax::new(logits.cast(dtype));
            let read = |data: burn::tensor::TensorData| data.iter::<f64>().collect::<Vec<_>>();
            (read(log_sum.into_data()), read(softmax.into_data()))
        };
        let ((sums, shares), (expected, of_backend)) = (of(DType::F32), of(DType::F64));
        for (sum, expected) in sums.iter().zip(&expected) {
            assert!((sum - expected).abs() < 1e-6 * expected.abs().max(1.0), "{sum} {expected}");
        }
        for (share, expected) in shares.iter().zip(&of_backend) {
            assert!((share - expected).abs() < 1e-6, "{share} {expected}");
        }
        assert_eq!(shares[5..20].iter().sum::<f64>(), 0.0);
    }

    #[test]
    fn nan_passes_through() {
        for at in [0, 20] {
            let mut row = [0.5; 21];
            row[at] = f32::NAN;
            assert!(normalise(&mut row).is_nan() && row.iter().all(|x| x.is_nan()));
        }
    }
}
