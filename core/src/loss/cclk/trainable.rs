//! Fair-CCLK with a bandwidth that is learned with the encoder: the "trainable kernel" that the authors name as their
//! next step. Ours.
//!
//! ```text
//! L(log sigma) = 1/(2b) sum_i [ log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij')/2 ) - s_ii' ]
//! w_ij = max(W_ij, 0) / sum_{k != i} max(W_ik, 0),   W = (K + lambda I)^-1 K
//! K_ij = k(|z_i - z_j|/sigma)
//! ```
//!
//! the normalised form of [`FairCclk`](super::FairCclk), differentiated also with respect to the logarithm of the
//! bandwidth. From `W = I - lambda (K + lambda I)^-1`
//!
//! ```text
//! dW / dlog sigma = lambda (K + lambda I)^-1 (dK / dlog sigma) (K + lambda I)^-1
//! dK_ij / dlog sigma = 2 K_ij |z_i - z_j|^2 / (2 sigma^2)   for the RBF kernel
//!                    =   K_ij |z_i - z_j| / sigma           for the Laplacian kernel
//! ```
//!
//! The host computes this in `f64` and contracts it with `dL / dW`, so that nothing is read back from the device. A
//! weight that is clipped at 0 has no gradient; where a weight crosses 0 the loss has a kink.
//!
//! Inputs are `view_a`, `view_b` (`[b, d]`), `z` (`[b, e]`), and `log_sigma`, one number, whose gradient has the
//! same name: from about -230.2 to 230.2, for a bandwidth from 1e-100 to 1e100; any other is an error. Given as a conditioning value it
//! stays on the host; given as a tensor it is read back, which is not possible on a page's GPU. The loss measures how well the
//! encoder separates positives from negatives of the same `z`: descent in `sigma` finds easy negatives and ascent finds hard ones,
//! so a trainer that learns a condition to be removed ascends.
//!
//! It allocates matrices of `2b x 2b` on the device and takes `b^3` work on the host. A singular `K + lambda I` is an error.

use std::ops::RangeInclusive;

use burn::tensor::{DType, Tensor};
use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};
use serde::{Deserialize, Serialize};
use simile_kernels::cpu::vectors::squared_distance;
use simile_kernels::gemm;

use super::super::differentiate;
use super::super::views::TwoViews;
use super::super::{Evaluation, Objective};
use crate::error::{Error, Result, shown};
use crate::kernel::Kernel;
use crate::kernel::conditional::WeightScheme;
use crate::loss::batch::Batch;
use crate::loss::pairwise::{EMPTY, other_view};
use crate::loss::spec::{Described, Family, Form, Input, Parameter, Range, Spec, VIEW_A, VIEW_B, Z};
use crate::numeric::matrix::Matrix;
use crate::numeric::matrix::indices;

/// Bandwidths whose squares are numbers.
const BANDWIDTHS: RangeInclusive<f64> = 1e-100..=1e100;

/// Kernels of one bandwidth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainableKernel {
    /// `exp(-|z-z'|^2 / (2 sigma^2))`.
    #[default]
    Rbf,
    /// `exp(-|z-z'|_2 / sigma)`.
    Laplacian,
}

/// Fair-CCLK with a learned bandwidth; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `z`, `[b, e]`;
/// `log_sigma`, `[1, 1]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainableFairCclk {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Ridge of `(K + lambda I)^-1 K`, 1e-12 to 1e12.
    pub lambda: f64,
    /// Kernel of the conditioning variable.
    pub kernel: TrainableKernel,
}

impl Default for TrainableFairCclk {
    fn default() -> Self {
        Self { temperature: 0.5, lambda: 0.01, kernel: TrainableKernel::Rbf }
    }
}

impl TrainableFairCclk {
    /// `W` and its derivative with respect to `log sigma`, both with diagonal 0 and with each row divided by the largest entry of that
    /// row of `W` off the diagonal, or by 1 if none is positive. The divisor cancels in the normalisation, whose gradient divides by a
    /// squared sum that would underflow without it.
    fn weights(&self, z: &Matrix, log_sigma: f64) -> Result<(Matrix, Matrix)> {
        let (n, sigma) = (z.rows(), log_sigma.exp());
        if !BANDWIDTHS.contains(&sigma) {
            let expected = "the logarithm of a bandwidth from 1e-100 to 1e100";
            return Err(Error::shape("log_sigma", expected, shown(log_sigma)));
        }
        let gram = match self.kernel {
            TrainableKernel::Rbf => Kernel::rbf(sigma).gram(z),
            TrainableKernel::Laplacian => Kernel::Laplacian { scale: sigma }.gram(z),
        };
        let slope = Mat::from_fn(n, n, |i, j| {
            let squared = squared_distance(z.row(i), z.row(j)) / (sigma * sigma);
            match self.kernel {
                // The square of a distance at which nothing is left of the kernel may be no number.
                _ if gram[(i, j)] == 0.0 => 0.0,
                TrainableKernel::Rbf => gram[(i, j)] * squared,
                TrainableKernel::Laplacian => gram[(i, j)] * squared.sqrt(),
            }
        });
        let ridge = |i, j| if i == j { self.lambda } else { 0.0 };
        let regularised = Mat::from_fn(n, n, |i, j| gram[(i, j)] + ridge(i, j));
        let inverse = regularised.llt(Side::Lower).map_err(|_| Error::Degenerate {
            reason: format!("K + lambda I is singular with lambda = {}", self.lambda),
            remedy: "raise lambda, or scale the conditioning variable `z` towards 1".into(),
        })?;
        let inverse = inverse.inverse();
        let change = &inverse * slope * &inverse;
        let identity = |i, j| f64::from(u8::from(i == j));
        let weight = |i, j| identity(i, j) - self.lambda * inverse[(i, j)];
        let largest = |i| (0..n).filter(|&j| j != i).map(|j| weight(i, j)).fold(0.0, f64::max);
        let scales: Vec<f64> =
            (0..n).map(|i| Some(largest(i)).filter(|&most| most > 0.0).unwrap_or(1.0)).collect();
        // The own weight is no share, and divided by a small scale it would be no number in `f32`.
        let off_diagonal = |i, j, value: f64| if i == j { 0.0 } else { value / scales[i] };
        let weights = Matrix::from_fn(n, n, |i, j| off_diagonal(i, j, weight(i, j)));
        Ok((weights, Matrix::from_fn(n, n, |i, j| off_diagonal(i, j, self.lambda * change[(i, j)]))))
    }

    /// The loss from unit rows of both views, stacked, and `W`.
    fn loss(&self, stacked: Tensor<2>, weights: Tensor<2>) -> Tensor<1> {
        let [b, _] = weights.dims();
        let (device, dtype) = (weights.device(), weights.dtype());
        let own = Tensor::<2>::eye(b, &device).cast(dtype);
        let positive_weights = (weights * (own.neg() + 1.0)).clamp_min(0.0);
        let sums = positive_weights.clone().sum_dim(1);
        let empty = sums.clone().lower_equal_elem(0.0);
        let shares = positive_weights / sums.mask_fill(empty, 1.0);
        // The reciprocal of a smaller share, by which its logarithm changes, is no number.
        let least = if dtype == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        let left_out = shares.clone().lower_elem(least);
        let log_shares = shares.mask_fill(left_out.clone(), 1.0).log().mask_fill(left_out, EMPTY);
        let log_shares = Tensor::cat(vec![log_shares.clone(), log_shares], 1);
        let log_shares = Tensor::cat(vec![log_shares.clone(), log_shares], 0);

        let similarity = gemm(stacked.clone(), stacked.transpose()) * self.temperature.recip();
        let partner = indices(&other_view(b), &device).unsqueeze_dim(1);
        let positive = similarity.clone().gather(1, partner);
        let mass = ((b - 1) as f64 / 2.0).max(f64::MIN_POSITIVE).ln();
        let logits = Tensor::cat(vec![positive.clone(), similarity + log_shares + mass], 1);
        let largest = logits.clone().max_dim(1).detach();
        let denominator = (logits - largest.clone()).exp().sum_dim(1).log() + largest;
        (denominator - positive).mean()
    }
}

impl Described for TrainableFairCclk {
    const SPEC: Spec = Spec {
        name: "fair-cclk-trainable",
        title: "Fair-CCLK, trainable kernel",
        family: Family::Cclk,
        summary: "a continuous condition, through a kernel whose bandwidth is learned",
        work: "ours, after Tsai et al., Conditional Contrastive Learning with Kernel, 2022",
        formula: "L(log sigma) = 1/(2b) sum_i [ repel{log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij')/2 )} - attract{s_ii'} ]\n\
            w_ij = max(W_ij, 0) / sum_{k != i} max(W_ik, 0),   W = (K + lambda I)^-1 K\n\
            K_ij = k(|z_i - z_j|/sigma)",
        symbols: "s_ij the cosine over the temperature, i' and j' the other views, k the kernel",
        inputs: &[
            VIEW_A,
            VIEW_B,
            Z,
            Input::rows("log_sigma", "[1, 1]", "logarithm of the bandwidth, which gets a gradient"),
        ],
        variants: &[Form::new("normalised", "rows of weights sum to 1").weights(WeightScheme::Normalised)],
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::number("lambda", Range::Moderate, 0.01, "ridge of (K + lambda I)^-1 K").symbol("λ"),
            Parameter::choice("kernel", &["rbf", "laplacian"], "kernel of the conditioning variable"),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for TrainableFairCclk {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let z = batch.condition(self.name(), "z", views.size)?;
        let log_sigma = if batch.has_condition("log_sigma") {
            batch.condition(self.name(), "log_sigma", 1)?.clone()
        } else {
            batch.host(self.name(), "log_sigma")?
        };
        let &[log_sigma] = log_sigma.data() else {
            return Err(Error::shape("log_sigma", "one number", format!("{}", log_sigma.data().len())));
        };
        let stacked = views.stacked();
        let (device, dtype) = (stacked.device(), stacked.dtype());
        let (weights, change) = self.weights(z, log_sigma)?;
        let weights = weights.to_tensor(&device, dtype);
        let (loss, [grad_views, grad_weights]) =
            differentiate([stacked, weights], |[stacked, weights]| self.loss(stacked, weights));
        let grad_log_sigma = (grad_weights * change.to_tensor(&device, dtype)).sum().unsqueeze();
        Ok(views.with_stacked_gradient(loss, grad_views).with_gradient("log_sigma", grad_log_sigma))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::super::FairCclk;
    use super::super::super::finite_difference::{gradient_error, place, random, read, value};
    use super::super::CclkSettings;
    use super::*;

    fn batch(log_sigma: f64) -> Batch {
        Batch::views(random(8, 4, 1), random(8, 4, 2))
            .with_condition("z", read(random(8, 3, 3)))
            .with_tensor("log_sigma", place(&Matrix::column(&[log_sigma])))
    }

    #[test]
    fn gradients_match_differences() {
        for kernel in [TrainableKernel::Rbf, TrainableKernel::Laplacian] {
            for log_sigma in [-0.5, 0.3, 1.2] {
                let objective = TrainableFairCclk { kernel, lambda: 0.1, ..TrainableFairCclk::default() };
                let error = gradient_error(&objective, &batch(log_sigma));
                assert!(error < 1e-6, "{kernel:?} at log sigma {log_sigma}: {error}");
            }
        }
    }

    /// The own weight, divided by those of a sample that is far from all others, is no number in `f32`.
    #[test]
    fn a_far_sample_has_a_loss_in_single_precision() {
        let z = || Matrix::column(&[0.0, 0.1, 20.0]);
        let loss = |dtype: DType| {
            let view = |seed| random(3, 4, seed).cast(dtype);
            let batch = Batch::views(view(1), view(2))
                .with_condition("z", z())
                .with_tensor("log_sigma", place(&Matrix::column(&[0.0])).cast(dtype));
            read(TrainableFairCclk::default().evaluate(&batch).unwrap().loss.unsqueeze())[(0, 0)]
        };
        let (single, double) = (loss(DType::F32), loss(DType::F64));
        assert!((single - double).abs() < 1e-5, "{single} {double}");
    }

    #[test]
    fn its_value_is_that_of_fair_cclk() {
        let variant = TrainableFairCclk::SPEC.variants[0].weights.unwrap();
        let fair = FairCclk(CclkSettings { kernel: Kernel::rbf(0.8), variant, ..CclkSettings::default() });
        let batch = batch(0.8_f64.ln());
        assert!((value(&TrainableFairCclk::default(), &batch) - value(&fair, &batch)).abs() < 1e-9);
    }

    /// Its weights are 1e-31 and less, of which single precision has no square.
    #[test]
    fn a_sample_far_from_the_others_has_a_finite_gradient() {
        let objective = TrainableFairCclk::default();
        for (far, dtype) in [(12.0, DType::F32), (12.0, DType::F64), (30.0, DType::F64)] {
            let view = |seed| random(3, 4, seed).cast(dtype);
            let batch = Batch::views(view(1), view(2))
                .with_condition("z", Matrix::column(&[0.0, 0.5, far]))
                .with_condition("log_sigma", Matrix::column(&[0.0]));
            let gradient = read(objective.evaluate(&batch).unwrap().gradients["log_sigma"].clone());
            assert!(gradient[(0, 0)].is_finite(), "{far}, {dtype:?}: {gradient:?}");
        }
        let error = gradient_error(&objective, &{
            let z = Matrix::column(&[0.0, 0.5, 0.2, 0.9, 1.1, 0.4, 0.7, 9.0]);
            batch(0.0).with_condition("z", z)
        });
        assert!(error < 1e-6, "{error}");
    }

    /// Sample 3 gives sample 6 a share of 1e-313, whose reciprocal is no number.
    #[test]
    fn a_share_below_the_least_normal_number_has_a_finite_gradient() {
        let z = Matrix::column(&[0.0, 0.1, 0.25, 1.0, 1.12, 3.0, 3.2, 5.3]);
        let error = gradient_error(&TrainableFairCclk::default(), &batch(-3.0).with_condition("z", z));
        assert!(error < 1e-6, "{error}");
    }

    #[test]
    fn a_bandwidth_without_a_square_is_named_and_far_rows_have_a_finite_gradient() {
        let objective = TrainableFairCclk::default();
        let error = objective.evaluate(&batch(-400.0)).unwrap_err().to_string();
        assert!(error.contains("`log_sigma` has -400, expected the logarithm of a bandwidth"), "{error}");
        let far = Matrix::from_fn(8, 1, |i, _| 1e90 * i as f64);
        for kernel in [TrainableKernel::Rbf, TrainableKernel::Laplacian] {
            let objective = TrainableFairCclk { kernel, ..TrainableFairCclk::default() };
            let evaluation = objective.evaluate(&batch(-200.0).with_condition("z", far.clone())).unwrap();
            assert_eq!(read(evaluation.gradients["log_sigma"].clone())[(0, 0)], 0.0, "{kernel:?}");
        }
    }

    #[test]
    fn the_bandwidth_can_stay_on_the_host() {
        let on_host = batch(9.0).with_condition("log_sigma", Matrix::column(&[0.3]));
        let difference = value(&TrainableFairCclk::default(), &on_host)
            - value(&TrainableFairCclk::default(), &batch(0.3));
        assert!(difference.abs() < 1e-15);
    }

    #[test]
    fn descending_it_lowers_the_loss() {
        let mut log_sigma = 0.3;
        let objective = TrainableFairCclk { lambda: 0.1, ..TrainableFairCclk::default() };
        let before = value(&objective, &batch(log_sigma));
        for _ in 0..20 {
            let gradient = objective.evaluate(&batch(log_sigma)).unwrap().gradients["log_sigma"].clone();
            log_sigma -= 0.2 * read(gradient)[(0, 0)];
        }
        assert!(value(&objective, &batch(log_sigma)) < before);
    }
}
