//! Kernel Decoupled Uniformity: centroids are estimated from all samples, weighted by a kernel on prior knowledge.
//!
//! ```text
//! L = log( 2/(b(b-1)) sum_{i<j} exp(-t |c_i - c_j|^2) ),   c_i = sum_j alpha_ij m_j
//! released  alpha = (K_Z + lambda I)^-1 K_Z
//! paper     alpha = (K_Z + b lambda I)^-1 K_Z
//! ```
//!
//! with the centroids `m_j` of [`DecoupledUniformity`](crate::loss::DecoupledUniformity) and the Gram matrix `K_Z`
//! of the prior `z`, `[b, e]`: features of a generative model, attributes, weak labels. No gradient flows
//! into `alpha`; negative weights are kept, nothing is normalised again. Dufumier et al., *Integrating Prior
//! Knowledge in Contrastive Learning with Kernel* (2023).
//!
//! | variant | ridge `r` | default of `t` |
//! |---|---|---|
//! | `paper` | `b lambda` | 1 |
//! | `released` (default) | `lambda` | 2 |
//!
//! The default is that of [`DecoupledUniformity`](crate::loss::DecoupledUniformity) and of the published experiments, so that the
//! two have the same default of `t`. The poster's scaling keeps the strength of the ridge at every batch size; at the published 256
//! it is 256 times the released one. `lambda` is 0.01 as released; `null` means `1 / sqrt(b)`, and so does 0 in the released form,
//! as in its code. The RBF kernel is `exp(-d^2 / (2 sigma^2))`; CCL-K's released code has `exp(-d^2 / temp_z)`, which is the same for
//! `temp_z = 2 sigma^2`. In released code the cosine kernel raises an error, and data sets without a prior use the class label
//! instead.
//!
//! With `K_Z = I` and a ridge of 0 it is [`DecoupledUniformity`](crate::loss::DecoupledUniformity). With `b = 1` loss
//! and gradient are 0. A singular `K_Z + r I` is an error.
//!
//! The weights of more than 1024 samples may be computed in [mixed precision](crate::kernel::conditional) or from a `K_Z` of low rank.
//! `aux.approximation_error` then bounds `|alpha - alpha_exact|_2`; it is at most about 0.05.

use std::ops::RangeInclusive;
use std::sync::Arc;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::potential::{T_AS_PRINTED, T_AS_RELEASED, default_t, uniformity};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernel::conditional::{
    ConditionWeights, DenseSolve, Forecast, HostWeightProduct, SolvedCondition, WeightProduct, WeightScheme,
};
use crate::loss::batch::Batch;
use crate::loss::condition::ConditionedByKernel;
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::spec::{Described, FURTHER_VIEWS, Family, Form, Parameter, Range, Spec, VIEW_A, VIEW_B, Z};
use crate::loss::views::ManyViews;
use crate::numeric::matrix::Matrix;

/// Kernel Decoupled Uniformity; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `view_c`, `[b, d]`,
/// optional; `z`, `[b, e]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KernelDecoupledUniformity {
    /// Factor of the squared distances, 1e-12 to 1e12; `None` for the variant's default.
    pub t: Option<f64>,
    /// Ridge, 0 to 1e12, before the variant's scaling; `None`, and as released also 0, for `1 / sqrt(b)`.
    pub lambda: Option<f64>,
    /// Kernel of the prior.
    pub kernel: Kernel,
    /// The scaling of the ridge, and the default of `t`.
    pub variant: Variant,
}

impl Default for KernelDecoupledUniformity {
    fn default() -> Self {
        Self { t: None, lambda: Some(0.01), kernel: Kernel::rbf(1.0), variant: Variant::Released }
    }
}

impl KernelDecoupledUniformity {
    fn t(&self) -> f64 {
        self.t.unwrap_or(default_t(self.variant))
    }

    /// The forecast of a solve.
    fn forecast(&self, samples: usize) -> Forecast<'_> {
        Forecast::new(&self.kernel, samples, self.ridge(samples), self.gram_diagonal())
    }
}

impl Described for KernelDecoupledUniformity {
    const SPEC: Spec = Spec {
        name: "kernel-decoupled-uniformity",
        title: "Kernel Decoupled Uniformity",
        family: Family::Uniformity,
        summary: "any number of views, and prior knowledge through a kernel",
        work: "Dufumier et al., Integrating Prior Knowledge in Contrastive Learning with Kernel, 2023",
        formula: "L = log( 2/(b(b-1)) sum_{i<j} exp(-t |c_i - c_j|^2) ),   c_i = sum_j alpha_ij m_j\n\
            released  alpha = (K_Z + lambda I)^-1 K_Z\n\
            paper     alpha = (K_Z + b lambda I)^-1 K_Z",
        symbols: "m_j the mean of the views of sample j, K_Z the kernel of the prior",
        inputs: &[VIEW_A, VIEW_B, FURTHER_VIEWS, Z.meaning("prior knowledge of each sample")],
        algorithms: &["single", "cached"],
        variants: &[
            Form::new("released", "ridge lambda, t = 2")
                .default("t", T_AS_RELEASED)
                .weights(WeightScheme::Paper),
            Form::new("paper", "ridge b lambda, t = 1")
                .default("t", T_AS_PRINTED)
                .ridge_grows()
                .weights(WeightScheme::Paper),
        ],
        keeps_condition: true,
        parameters: &[
            Parameter::number("t", Range::Moderate, 2.0, "factor of the squared distances")
                .between(0.1, 16.0)
                .null_by_default("2 as released, 1 as printed"),
            Parameter::number("lambda", Range::Factor, 0.01, "ridge before the scaling of the variant")
                .symbol("λ")
                .between(1e-5, 100.0)
                .or_null("1 / sqrt(b)"),
            Parameter::kernel(r#"{ "name": "rbf", "sigma": 1.0 }"#, "kernel of the prior"),
        ],
        pytorch: Some(concat!(
            include_str!("potential.py"),
            include_str!("../cclk/condition_weights.py"),
            include_str!("kernel_decoupled_uniformity.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl ConditionedByKernel for KernelDecoupledUniformity {
    fn solve(&self, z: &Matrix, device: &Device) -> Result<SolvedCondition> {
        let product = HostWeightProduct::new(&self.kernel, z, self.ridge(z.rows()), device)?;
        Ok(SolvedCondition::Product(Arc::new(product)))
    }

    fn stored_numbers(&self, samples: usize) -> RangeInclusive<u64> {
        self.forecast(samples).stored_numbers()
    }

    fn dense_solve(&self, samples: usize, columns: usize) -> DenseSolve {
        self.forecast(samples).dense_solve(columns)
    }

    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn ridge(&self, samples: usize) -> f64 {
        let is_given = |lambda: &f64| *lambda != 0.0 || self.variant == Variant::Paper;
        let lambda = self.lambda.filter(is_given).unwrap_or(1.0 / (samples as f64).sqrt());
        match self.variant {
            Variant::Paper => lambda * samples as f64,
            Variant::Released => lambda,
        }
    }

    fn weights(&self, z: &Matrix) -> Result<ConditionWeights> {
        ConditionWeights::solve(&self.kernel, z, self.ridge(z.rows()), self.gram_diagonal())
    }
}

impl Objective for KernelDecoupledUniformity {
    fn check(&self) -> Result<()> {
        Self::SPEC.check(self)?;
        self.kernel.check()
    }

    fn conditioned_by_kernel(&self) -> Option<&dyn ConditionedByKernel> {
        Some(self)
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = ManyViews::of(batch, self.name())?;
        let centroids = views.centroids();
        let weights = match batch.solution(views.size) {
            Some(SolvedCondition::Product(product)) => WeightProduct::of(product, &centroids),
            _ => {
                let prior = batch.condition(self.name(), "z", views.size)?;
                WeightProduct::new(&self.kernel, prior, self.ridge(views.size), &centroids)?
            }
        };
        let estimated = weights.apply(centroids)?;
        let (loss, gradient) = uniformity(estimated.clone(), self.t(), batch)?;
        // The gradient is `alpha^T g`, and `alpha` is symmetric.
        let evaluation =
            views.centroid_loss(loss, weights.apply(gradient)?).with_accuracy(weights.accuracy());
        evaluation.with_details(batch, |evaluation| {
            let (at_two, _) = uniformity(estimated, 2.0, batch)?;
            Ok(evaluation.with_aux("loss_t2", Aux::Scalar(at_two)))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, read, value};

    #[test]
    fn a_bandwidth_of_zero_is_refused_before_the_first_batch() {
        let objective = KernelDecoupledUniformity { kernel: Kernel::rbf(0.0), ..Default::default() };
        assert!(objective.check().unwrap_err().to_string().contains("`kernel.temp_z` is 0"));
    }

    #[test]
    fn a_ridge_of_zero_is_that_of_the_release_in_the_released_form_alone() {
        let batch = Batch::views(random(4, 3, 1), random(4, 3, 2)).with_condition("z", read(random(4, 2, 3)));
        let of = |lambda, variant| {
            let objective = KernelDecoupledUniformity { lambda, variant, t: Some(2.0), ..Default::default() };
            value(&objective, &batch)
        };
        assert_eq!(of(Some(0.0), Variant::Released), of(Some(0.5), Variant::Released), "1 / sqrt(4)");
        assert_eq!(of(None, Variant::Released), of(Some(0.5), Variant::Released));
        assert_ne!(of(Some(0.0), Variant::Paper), of(None, Variant::Paper));
    }

    /// 1100 samples are solved in mixed precision, by the step or ahead of it, and 40 exactly.
    #[test]
    fn a_large_batch_states_the_error_of_its_solve() {
        let objective =
            KernelDecoupledUniformity { kernel: Kernel::rbf(0.4), lambda: Some(0.1), ..Default::default() };
        let evaluated = |samples, ahead: bool| {
            let z = read(random(samples, 3, 3));
            let solution = ahead.then(|| objective.solve(&z, &Device::flex()).unwrap());
            let stated = solution.as_ref().map(SolvedCondition::approximation_error);
            let batch = Batch::views(random(samples, 2, 1), random(samples, 2, 2));
            let batch = batch.with_condition("z", z).with_solution(solution);
            let error = match objective.evaluate(&batch).unwrap().aux.remove("approximation_error") {
                Some(Aux::Number(error)) => Some(error),
                _ => None,
            };
            assert!(stated.is_none_or(|stated| stated == error), "{stated:?} {error:?}");
            error
        };
        for ahead in [false, true] {
            let error = evaluated(1100, ahead);
            assert!(error.is_some_and(|error| error > 0.0 && error <= 0.05), "{error:?}");
            assert_eq!(evaluated(40, ahead), None);
        }
    }
}
