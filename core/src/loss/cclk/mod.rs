//! Conditional Contrastive Learning with Kernel (Tsai et al., 2022): WeaklySup-, Fair- and HardNeg-CCLK.
//!
//! All three weigh the pairs of a batch by `W = (K_Z + lambda I)^-1 K_Z`, where `K_Z` compares the samples'
//! conditioning values `z` (see [`crate::kernel::conditional`]), and use the kernel conditional embedding estimate
//!
//! ```text
//! [K_{X|Y Z}]_ii = sum_j w_ji exp(s_ij),   s_ij = cos(a_i, b_j) / temperature
//! ```
//!
//! (eq. KCEO) as the expected similarity of anchor `i` to samples that share its `z`. In Fair- and HardNeg-CCLK that
//! is the denominator, in WeaklySup-CCLK the numerator.
//!
//! | variant | pairs | weights | anchors |
//! |---|---|---|---|
//! | `paper` | across views | unchanged, own pair and negative weights included | b, direction a to b |
//! | `released` | across and within views, added | diagonal of K set to 1, own pair 0, below 1e-6 set to 0, not renormalised; sums clamped into `[1e-7, 1e20]` | 2b, mean of both directions |
//! | `normalised` (ours) | across and within views, averaged | non-negative, rows of sum 1 | 2b, mean of both directions |
//!
//! The default is `normalised`. As printed, a finite batch gives weights of either sign, so the argument of a
//! logarithm can fall below 0, and for `lambda -> 0` with a kernel matrix of full rank `W -> I`, so that Fair-CCLK
//! becomes `log b` with no gradient. As released, clipping without renormalising makes the total weight of the
//! negatives depend on `lambda` and the bandwidth; it can be zero. Normalised rows are a conditional distribution
//! over the other samples, which the estimate is meant to be.

pub mod fair;
mod signed;
pub mod trainable;
pub mod weak;

use std::ops::RangeInclusive;
use std::sync::Arc;

use burn::tensor::{Bool, Device, Tensor};
use serde::{Deserialize, Serialize};

use super::infonce::info_nce::Side;
use super::objective::SolveAhead;
use super::spec::{Form, Parameter, Range, Spec};
use super::views::TwoViews;
use crate::error::{Error, Result};
use crate::kernel::conditional::{
    Accuracy, ConditionSolution, ConditionalEmbedding, DenseSolve, DeviceEmbedding, WeightScheme,
};
use crate::kernel::{Approximation, Kernel};
use crate::loss::batch::Batch;
use crate::loss::pairwise::{EMPTY, LogSumExp, PairWeights, Weight};
use crate::numeric::matrix::{Matrix, check_values};

pub use fair::{FairCclk, HardNegCclk};
pub use trainable::{TrainableFairCclk, TrainableKernel};
pub use weak::WeakSupCclk;

/// The formulas of the three objectives.
const VARIANTS: &[Form] = &[
    Form::new("normalised", "non-negative weights in rows of sum 1; ours"),
    Form::new("paper", "weights as they come, across views").directed(),
    Form::new(
        "released",
        "diagonal of K set to 1; own pair and weights below the clip set to 0, not renormalised; sums in the logarithms clamped into [1e-7, 1e20]",
    ),
];

/// Their parameters.
const PARAMETERS: &[Parameter] = &[
    Parameter::temperature(0.5),
    Parameter::number("lambda", Range::Moderate, 0.01, "ridge of (K + lambda I)^-1 K")
        .symbol("λ")
        .between(1e-5, 100.0),
    Parameter::kernel(
        r#"{ "name": "cosine" }"#,
        "kernel of the conditioning variable (the cosine of one column is 1 or -1: take rbf or exact-match for it)",
    ),
    Parameter::structured("approximation", "null", "a Gram matrix of low rank, with its stated error")
        .null_by_default("none"),
    Parameter::number(
        "clip_threshold",
        Range::Within(0.0, 1.0),
        1e-6,
        "weights below this are set to 0, as released",
    )
    .between(1e-9, 1.0)
    .only_in("released"),
    Parameter::flag("symmetric", false, "averages the directions a to b and b to a, as printed")
        .only_in("paper"),
];

/// Settings of the three objectives.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KernelWeights {
    /// Divisor of the cosines; the released scripts default to 0.5, the released Fair command passes 0.1.
    pub temperature: f64,
    /// Ridge of `(K + lambda I)^-1 K`, above 0; released: 0.01, and 100 for HardNeg-CCLK. Not multiplied by the batch
    /// size.
    pub lambda: f64,
    /// Kernel of the conditioning variable. Of one column the cosine, the default, is 1 or -1; take RBF or exact match for it.
    pub kernel: Kernel,
    /// Approximates the Gram matrix by one of low rank, with a stated error (see [`Approximation`]); none by default.
    /// For large batches and kernels without few features; `aux.approximation_error` then bounds `|W - W_exact|_2`, as it
    /// does for batches of more than 1024 samples, which are solved in [mixed precision](crate::kernel::conditional).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximation: Option<Approximation>,
    /// Weights below this threshold are set to 0 (variant `released` only).
    pub clip_threshold: f64,
    /// Averages the directions a to b and b to a (variant `paper` only; the others always average).
    pub symmetric: bool,
    /// The variant of the weights.
    pub variant: WeightScheme,
}

impl Default for KernelWeights {
    fn default() -> Self {
        Self {
            temperature: 0.5,
            lambda: 0.01,
            kernel: Kernel::Cosine,
            approximation: None,
            clip_threshold: 1e-6,
            symmetric: false,
            variant: WeightScheme::Normalised,
        }
    }
}

impl KernelWeights {
    fn check(&self, spec: &Spec) -> Result<()> {
        if self.lambda == 0.0 {
            let reason = "with which no sample weighs any other and the loss is 0; released: 0.01";
            return Err(Error::parameter("lambda", self.lambda, reason));
        }
        spec.check(self)?;
        self.approximation.as_ref().map_or(Ok(()), Approximation::check)
    }

    /// The operators of rows on a device, which are not read; with the Gram matrix of the variant.
    fn operators_on_device(&self, z_a: Tensor<2>, z_b: Tensor<2>, like: &Tensor<2>) -> BothEmbeddings {
        let unit = self.sets_unit_diagonal();
        let of =
            |z: Tensor<2>| DeviceEmbedding::from_rows(&self.kernel, z.cast(like.dtype()), self.lambda, unit);
        BothEmbeddings {
            a: of(z_a),
            b: of(z_b),
            is_shared: false,
            is_symmetric: true,
            accuracy: Accuracy::Unknown,
        }
    }

    /// The operators of both views on the host, from `z`, or from `z_a` and `z_b`.
    fn on_host(&self, batch: &Batch, objective: &str, samples: usize) -> Result<HostEmbeddings> {
        if let Some(ConditionSolution::Weights(both)) = batch.solution(samples) {
            return Ok(HostEmbeddings { a: Arc::clone(both), b: None });
        }
        let of = |name| Ok(Arc::new(self.weights(batch.condition(objective, name, samples)?)?));
        // One of both is not enough, and is not passed over for `z`.
        match batch.has_condition("z_a") || batch.has_condition("z_b") {
            true => Ok(HostEmbeddings { a: of("z_a")?, b: Some(of("z_b")?) }),
            false => Ok(HostEmbeddings { a: of("z")?, b: None }),
        }
    }

    /// The operators of both views on the device of the embeddings.
    fn operators(&self, batch: &Batch, objective: &str, views: &TwoViews) -> Result<BothEmbeddings> {
        Ok(self.on_host(batch, objective, views.size)?.on_device(&views.a.rows()))
    }

    /// The same for a loss in which, of normalised weights, only the shares of a row count. A row of very small weights is
    /// rescaled, so that neither they nor their products with exponentials leave `f32`.
    fn operators_of_shares(
        &self,
        batch: &Batch,
        objective: &str,
        views: &TwoViews,
    ) -> Result<BothEmbeddings> {
        let (on_host, like) = (self.on_host(batch, objective, views.size)?, views.a.rows());
        let span = (2.0 / self.temperature).min(LONGEST_SPAN);
        let least = (SMALLEST_SUM * span.exp()).max(SMALLEST_LARGEST);
        Ok(match self.variant {
            WeightScheme::Normalised => on_host.rescaled_on_device(least, &like),
            _ => on_host.on_device(&like),
        })
    }
}

impl SolveAhead for KernelWeights {
    fn solve(&self, z: &Matrix, _device: &Device) -> Result<ConditionSolution> {
        check_values("z", z)?;
        Ok(ConditionSolution::Weights(Arc::new(self.weights(z)?)))
    }

    fn numbers(&self, samples: usize) -> RangeInclusive<u64> {
        match &self.approximation {
            // Two factors.
            Some(approximation) => {
                0..=2 * (samples as u64).saturating_mul(approximation.rank.min(samples) as u64)
            }
            None => DeviceEmbedding::numbers(&self.kernel, samples, self.lambda, self.sets_unit_diagonal()),
        }
    }

    fn dense_solve(&self, samples: usize, columns: usize) -> DenseSolve {
        match &self.approximation {
            Some(_) => DenseSolve::Rare,
            None => {
                let unit = self.sets_unit_diagonal();
                DenseSolve::of(&self.kernel, (samples, columns), self.lambda, unit)
            }
        }
    }

    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn ridge(&self, _samples: usize) -> Result<f64> {
        Ok(self.lambda)
    }

    fn weights(&self, z: &Matrix) -> Result<ConditionalEmbedding> {
        let sets_unit_diagonal = self.sets_unit_diagonal();
        match &self.approximation {
            None if sets_unit_diagonal => {
                ConditionalEmbedding::with_unit_diagonal(&self.kernel, z, self.lambda)
            }
            None => ConditionalEmbedding::new(&self.kernel, z, self.lambda),
            Some(approximation) => {
                let factor = self.kernel.low_rank(z, approximation)?;
                if sets_unit_diagonal {
                    ConditionalEmbedding::from_low_rank_with_unit_diagonal(&factor, self.lambda)
                } else {
                    ConditionalEmbedding::from_low_rank(&factor, self.lambda)
                }
            }
        }
    }

    fn sets_unit_diagonal(&self) -> bool {
        self.variant == WeightScheme::Released
    }
}

/// The largest difference of similarities for which terms of a sum are not relative to the largest of its row.
const LONGEST_SPAN: f64 = 60.0;
/// The smallest sum of weights times exponentials whose reciprocal, over a temperature, is in `f32`.
const SMALLEST_SUM: f64 = 1e-36;
/// A row whose largest weight is above this has ten digits of its shares in `f32`.
const SMALLEST_LARGEST: f64 = 1e-20;

/// The operators of both views on the host.
struct HostEmbeddings {
    a: Arc<ConditionalEmbedding>,
    /// That of view b, unless both views share one.
    b: Option<Arc<ConditionalEmbedding>>,
}

impl HostEmbeddings {
    /// On the device of a tensor, in its type.
    fn on_device(&self, like: &Tensor<2>) -> BothEmbeddings {
        let of = |operator: &ConditionalEmbedding| operator.on_device(&like.device(), like.dtype());
        let (a, of_a) = (of(&self.a), self.a.accuracy());
        let (b, accuracy) = match &self.b {
            None => (a.clone(), of_a),
            Some(b) => (of(b), of_a.and(b.accuracy())),
        };
        BothEmbeddings { a, b, is_shared: self.b.is_none(), is_symmetric: true, accuracy }
    }

    /// The same with rows [rescaled](ConditionalEmbedding::rescaled) whose largest weight is below `least`.
    fn rescaled_on_device(self, least: f64, like: &Tensor<2>) -> BothEmbeddings {
        let rescaled = |operator: &Arc<ConditionalEmbedding>| operator.rescaled(least).map(Arc::new);
        let (a, b) = (rescaled(&self.a), self.b.as_ref().and_then(rescaled));
        let is_symmetric = a.is_none() && b.is_none();
        let rescaled = Self { a: a.unwrap_or(self.a), b: b.or(self.b) };
        BothEmbeddings { is_symmetric, ..rescaled.on_device(like) }
    }
}

/// The operators of view a and view b on the device of the embeddings.
struct BothEmbeddings {
    a: DeviceEmbedding,
    b: DeviceEmbedding,
    is_shared: bool,
    /// False if rows are rescaled.
    is_symmetric: bool,
    accuracy: Accuracy,
}

impl BothEmbeddings {
    /// The weights of stacked rows among themselves: each anchor gives both views of a sample the same weight.
    fn stacked(&self) -> PairWeights {
        let operators = if self.is_shared { &[&self.a][..] } else { &[&self.a, &self.b] };
        match self.is_symmetric {
            true => DeviceEmbedding::pair_weights(operators),
            false => DeviceEmbedding::pair_weights_of_rows(operators),
        }
    }

    /// The weight of a sample's own pair, for each stacked anchor.
    fn own_weights(&self) -> Tensor<1> {
        Tensor::cat(vec![self.a.diagonal(), self.b.diagonal()], 0).squeeze_dim(1)
    }

    fn of(&self, side: Side) -> &DeviceEmbedding {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }
}

/// The log-sum-exp over the other samples, `b` of each view, with their weights above a threshold.
fn weighted(b: usize, threshold: f64) -> LogSumExp {
    LogSumExp::apart(b).weighted(Weight::Above(threshold))
}

/// The logarithm of the sum of the weights of [`weighted`] with threshold 0, over the samples of one view: the sum
/// with power 0, halved.
struct Mass(Tensor<1>);

impl Mass {
    /// The term that computes the sum.
    fn term(b: usize) -> LogSumExp {
        weighted(b, 0.0).with_power(0.0)
    }

    /// Computed from the sum of [`term`](Self::term).
    fn of(sum: &Tensor<1>) -> Self {
        Self(sum.clone().detach() - std::f64::consts::LN_2)
    }

    /// True where there is no other sample of positive weight.
    fn is_empty(&self) -> Tensor<1, Bool> {
        self.0.clone().lower_elem(EMPTY / 2.0)
    }

    /// A weighted sum divided by the sum of its weights; [`EMPTY`] without any.
    fn normalise(&self, sum: Tensor<1>) -> Tensor<1> {
        (sum - self.0.clone()).mask_fill(self.is_empty(), EMPTY)
    }
}

/// The logarithms of weights of at least 0.
fn log_or_empty(weights: Tensor<1>) -> Tensor<1> {
    let empty = weights.clone().lower_equal_elem(0.0);
    weights.mask_fill(empty.clone(), 1.0).log().mask_fill(empty, EMPTY)
}

/// The logarithm of a sum of exponentials that released code clamps into `[1e-7, 1e20]`; without a gradient where it is outside.
fn released_clamp(log: Tensor<1>) -> Tensor<1> {
    log.clamp(1e-7_f64.ln(), 1e20_f64.ln())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::DType;

    use super::super::finite_difference::{random, read, value};
    use super::super::{Aux, Evaluation, Objective, build};
    use super::*;

    /// An objective of this family with an RBF kernel, and an approximation if a rank is given.
    fn objective(name: &str, variant: &str, rank: Option<usize>) -> Box<dyn Objective> {
        let mut parameters = serde_json::json!({ "lambda": 0.1, "kernel": { "name": "rbf", "sigma": 1.5 } });
        if let Some(rank) = rank {
            parameters["approximation"] = serde_json::json!({ "rank": rank, "tolerance": 0 });
        }
        build(name, Some(variant), parameters).unwrap()
    }

    /// Conditions of two samples and of one at a distance from both.
    fn of_two_and_one(far: f64) -> Matrix {
        Matrix::from_fn(3, 2, |i, j| [[0.0, 3.0], [0.0, -3.1], [far, 0.0]][i][j])
    }

    /// The loss of three samples, the last of which is far from the others, and its gradient with respect to `view_a`.
    fn of_a_far_sample(name: &str, far: f64, temperature: f64, dtype: DType) -> (f64, Matrix) {
        let kernel = serde_json::json!({ "name": "rbf", "sigma": 1 });
        let parameters = serde_json::json!({ "temperature": temperature, "kernel": kernel });
        let view = |seed| random(3, 4, seed).cast(dtype);
        let batch = Batch::views(view(1), view(2));
        let batch = match name {
            "hardneg-cclk" => batch
                .with_condition("z_a", of_two_and_one(far))
                .with_condition("z_b", of_two_and_one(far + 1.0)),
            _ => batch.with_condition("z", of_two_and_one(far)),
        };
        let evaluation = build(name, None, parameters).unwrap().evaluate(&batch).unwrap();
        let loss = read(evaluation.loss.unsqueeze())[(0, 0)];
        (loss, read(evaluation.gradients["view_a"].clone()))
    }

    #[test]
    fn shares_of_weights_of_any_size_are_those_of_double_precision() {
        for (far, temperature) in [(7.0, 0.5), (9.5, 0.04), (12.0, 0.5), (25.0, 0.1)] {
            for name in ["fair-cclk", "hardneg-cclk"] {
                let (single, of_single) = of_a_far_sample(name, far, temperature, DType::F32);
                let (double, of_double) = of_a_far_sample(name, far, temperature, DType::F64);
                let apart = (single - double).abs();
                assert!(apart < 3e-5 * double.abs().max(1.0), "{name} {far}: {single} {double}");
                let largest = of_double.data().iter().fold(0.0_f64, |most, g| most.max(g.abs()));
                let pairs = of_single.data().iter().zip(of_double.data());
                let off = pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
                assert!(off < 1e-4 * largest, "{name} {far}: {off} of {largest}");
            }
            let trainable = TrainableFairCclk { temperature, ..TrainableFairCclk::default() };
            let batch = Batch::views(random(3, 4, 1), random(3, 4, 2))
                .with_condition("z", of_two_and_one(far))
                .with_condition("log_sigma", Matrix::column(&[0.0]));
            let (fair, _) = of_a_far_sample("fair-cclk", far, temperature, DType::F64);
            assert!((fair - value(&trainable, &batch)).abs() < 1e-9 * fair.abs().max(1.0), "{far}");
        }
    }

    /// Two samples, each alone with its condition, whose views have a cosine of `own` and are orthogonal to those of the other sample.
    fn of_two_alone(
        name: &str,
        variant: &str,
        kernel: &str,
        z: [f64; 2],
        [own, temperature]: [f64; 2],
    ) -> Evaluation {
        let kernel: serde_json::Value = serde_json::from_str(kernel).unwrap();
        let lambda = if variant == "paper" { 1.0 } else { 0.01 };
        let parameters =
            serde_json::json!({ "temperature": temperature, "lambda": lambda, "kernel": kernel });
        let view = |scale: f64| {
            let unit = [[scale, 0.0], [0.0, scale]];
            crate::loss::finite_difference::place(&Matrix::from_fn(2, 2, |i, j| unit[i][j]))
        };
        let batch = Batch::views(view(1.0), view(own)).with_condition("z", Matrix::column(&z));
        build(name, Some(variant), parameters).unwrap().evaluate(&batch).unwrap()
    }

    fn assert_near(evaluation: &Evaluation, expected: f64) {
        let loss = read(evaluation.loss.clone().unsqueeze())[(0, 0)];
        assert!((loss - expected).abs() < 1e-9 * expected.abs(), "{loss}, expected {expected}");
    }

    #[test]
    fn released_sums_outside_of_their_bounds_are_clamped() {
        let rbf = r#"{ "name": "rbf", "temp_z": 1.0 }"#;
        let (low, high) = (1e-7_f64.ln(), 1e20_f64.ln());
        for name in ["fair-cclk", "hardneg-cclk"] {
            let of = |own, temperature| of_two_alone(name, "released", rbf, [0.0, 100.0], [own, temperature]);
            let opposite = of(-1.0, 0.05);
            assert_near(&opposite, low + 20.0);
            let pulls = read(opposite.gradients["view_a"].clone());
            assert!(pulls.data().iter().all(|g| g.is_finite()), "{pulls:?}");
            assert_near(&of(1.0, 0.02), high - 50.0);
        }
        assert_near(&of_two_alone("weaksup-cclk", "released", rbf, [0.0, 100.0], [1.0, 0.02]), high - low);
    }

    /// The own term of a sum has the own weight, which polynomial kernels make small.
    #[test]
    fn a_small_sum_of_printed_weights_is_taken_as_it_is() {
        let cubic =
            of_two_alone("weaksup-cclk", "paper", r#"{ "name": "polynomial" }"#, [0.01, 1.0], [1.0, 0.5]);
        // K has rank one, with entries of 1e-12, 1e-6 and 1; W is K / (1 + trace of K).
        let trace = 1.0 + 1e-12;
        let [first, both, second] = [1e-12, 1e-6, 1.0].map(|k: f64| k / (1.0 + trace));
        let e = 2.0_f64.exp();
        let of = |positives: f64| ((positives + 1.0) / positives).ln();
        assert_near(&cubic, (of(first * e + both) + of(second * e + both)) / 2.0);
    }

    #[test]
    fn a_printed_sum_far_below_its_negatives_is_taken_as_it_is() {
        let apart =
            of_two_alone("weaksup-cclk", "paper", r#"{ "name": "exact-match" }"#, [0.0, 1.0], [-1.0, 0.01]);
        // W is I / 2, so that the positive sum is exp(-100) / 2 and the negative one 1.
        assert_near(&apart, 100.0 + 2.0_f64.ln());
    }

    #[test]
    fn an_approximation_of_enough_rank_changes_nothing_and_states_its_error() {
        let batch =
            Batch::views(random(40, 4, 1), random(40, 4, 2)).with_condition("z", read(random(40, 2, 3)));
        for name in ["fair-cclk", "weaksup-cclk"] {
            for variant in ["released", "normalised"] {
                let exact = value(objective(name, variant, None).as_ref(), &batch);
                let off = |rank| {
                    let objective = objective(name, variant, Some(rank));
                    let evaluation = objective.evaluate(&batch).unwrap();
                    let Aux::Number(error) = evaluation.aux["approximation_error"] else { unreachable!() };
                    ((value(objective.as_ref(), &batch) - exact).abs(), error)
                };
                let (difference, error) = off(40);
                assert!(difference < 1e-5 && error < 1e-9, "{name} {variant}: {difference}, {error}");
                assert!(off(5).1 > 1e-3);
            }
        }
    }
}
