//! EnD: features of samples that share the bias are made orthogonal, features of samples that share only the class are
//! drawn together.
//!
//! ```text
//! L = CE(z, y) + alpha R_orthogonal + beta R_parallel,   g_pq = < x_p, x_q >
//!
//! R_orthogonal = sum_b | sum_{p > q in B_b} g_pq | / M,              B_b the samples of bias b, M the pairs counted
//! R_parallel   = 1 - sum_{p > q, y_p = y_q, paired} (1 + g_pq) / 2 / M'
//!
//! paper     paired: b_p != b_q
//! released  paired: b_p <  b_q
//! ```
//!
//! with the features `view_a` `x` as unit rows, `[n, d]`, the scores `logits` `z`, `[n, classes]`, the classes `labels`
//! `y` and the bias attributes `bias` `b`. Tartaglione et al., *EnD: Entangling and Disentangling deep representations
//! for bias correction* (2021). The orthogonal term does not look at the class.
//!
//! Released code masks both terms with the strict lower triangle. For equal biases that counts each pair once; for
//! different ones, whose mask is not symmetric, it drops each pair whose later sample has the larger bias, about half
//! of them, and which half depends on the order of the batch. The default, `paper`, counts every pair once and does not
//! depend on the order. Released code expects that the network normalises the features; here they are normalised unless
//! the batch says that they are unit rows. It clamps `g` to [-1, 1], which unit rows never leave.
//!
//! `alpha` = `beta` = 1 as in the comparison of Hong and Yang; the original work searches both in [0, 1]. A term
//! without any pair is 0 with gradient 0.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::logits::{cross_entropy, of_inputs, targets};
use super::{Aux, Evaluation, Objective, Variant};
use crate::batch::Batch;
use crate::error::{Error, Result, within};
use crate::matrix::Matrix;

/// See the [module](self).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct End {
    /// Factor of the orthogonal term, 0 or above.
    pub alpha: f64,
    /// Factor of the parallel term, 0 or above.
    pub beta: f64,
    /// Whether the parallel term counts all pairs or the released half.
    pub variant: Variant,
}

impl Default for End {
    fn default() -> Self {
        Self { alpha: 1.0, beta: 1.0, variant: Variant::Paper }
    }
}

impl Objective for End {
    fn name(&self) -> &'static str {
        "end"
    }

    fn check(&self) -> Result<()> {
        within("alpha", self.alpha, 0.0, f64::MAX)?;
        within("beta", self.beta, 0.0, f64::MAX).map(drop)
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let features = batch.unit_rows(self.name(), "view_a")?;
        let targets = targets(batch, self.name(), "labels", &logits)?;
        let [rows, _] = logits.dims();
        if features.rows().dims()[0] != rows {
            let found = format!("{} rows", features.rows().dims()[0]);
            return Err(Error::shape("view_a", format!("{rows} rows"), found));
        }
        let labels = batch.indices(self.name(), "labels", rows)?;
        let bias = batch.indices(self.name(), "bias", rows)?;
        let pairs = Pairs::of(labels, bias, self.variant).on_device(&logits);

        let unit = features.rows();
        let (orthogonal, parallel) = pairs.terms(unit.clone());
        let ce = cross_entropy(logits.clone(), &targets).mean();
        let regulariser = orthogonal.clone() * self.alpha + parallel.clone() * self.beta;
        let mut evaluation = of_inputs([("view_a", unit), ("logits", logits)], |[unit, logits]| {
            let (orthogonal, parallel) = pairs.terms(unit);
            cross_entropy(logits, &targets).mean() + orthogonal * self.alpha + parallel * self.beta
        });
        if let Some(gradient) = evaluation.gradients.remove("view_a") {
            evaluation = evaluation.with_gradient("view_a", features.pull_back(gradient));
        }
        Ok(evaluation
            .with_aux("ce", Aux::Scalar(ce))
            .with_aux("reg", Aux::Scalar(regulariser))
            .with_aux("R_orthogonal", Aux::Scalar(orthogonal))
            .with_aux("R_parallel", Aux::Scalar(parallel)))
    }
}

/// Which pairs count, as constant matrices.
struct Pairs<M> {
    /// 1 for pairs of equal bias, divided by their number.
    orthogonal: M,
    /// Bias of each sample as a row of indicators, transposed: `[biases, n]`.
    members: M,
    /// 1 for pairs of equal class and different bias, divided by their number.
    parallel: M,
    has_parallel: bool,
}

impl Pairs<Matrix> {
    fn of(labels: &[usize], bias: &[usize], variant: Variant) -> Self {
        let n = labels.len();
        let equal_bias = Matrix::from_fn(n, n, |p, q| f64::from(u8::from(p > q && bias[p] == bias[q])));
        let counts = |p: usize, q: usize| match variant {
            Variant::Paper => bias[p] != bias[q],
            Variant::Released => bias[p] < bias[q],
        };
        let parallel = Matrix::from_fn(n, n, |p, q| {
            f64::from(u8::from(p > q && labels[p] == labels[q] && counts(p, q)))
        });
        let biases = bias.iter().max().map_or(0, |&b| b + 1);
        let members = Matrix::from_fn(biases, n, |b, i| f64::from(u8::from(bias[i] == b)));
        let has_parallel = parallel.data().iter().any(|&v| v > 0.0);
        Self { orthogonal: shared(equal_bias), members, parallel: shared(parallel), has_parallel }
    }

    fn on_device(&self, like: &Tensor<2>) -> Pairs<Tensor<2>> {
        let place = |m: &Matrix| m.to_tensor(&like.device(), like.dtype());
        Pairs {
            orthogonal: place(&self.orthogonal),
            members: place(&self.members),
            parallel: place(&self.parallel),
            has_parallel: self.has_parallel,
        }
    }
}

impl Pairs<Tensor<2>> {
    /// `R_orthogonal` and `R_parallel`.
    fn terms(&self, unit: Tensor<2>) -> (Tensor<1>, Tensor<1>) {
        let gram = unit.clone().matmul(unit.transpose());
        let by_sample = (gram.clone() * self.orthogonal.clone()).sum_dim(1);
        let orthogonal = self.members.clone().matmul(by_sample).abs().sum();
        let drawn = ((gram + 1.0) * self.parallel.clone()).sum() * 0.5;
        let whole = f64::from(u8::from(self.has_parallel));
        (orthogonal, drawn.neg() + whole)
    }
}

/// Indicators divided by their number.
fn shared(mut indicators: Matrix) -> Matrix {
    let count: f64 = indicators.data().iter().sum::<f64>().max(1.0);
    indicators.data_mut().iter_mut().for_each(|v| *v /= count);
    indicators
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::finite_difference::{gradient_error, random, value};
    use super::*;

    const LABELS: [usize; 6] = [0, 1, 0, 1, 0, 0];
    const BIAS: [usize; 6] = [1, 0, 0, 1, 1, 2];

    fn batch(order: [usize; 6]) -> Batch {
        let at: Vec<i32> = order.iter().map(|&i| i32::try_from(i).unwrap()).collect();
        let at: Tensor<1, burn::tensor::Int> =
            Tensor::from_ints(at.as_slice(), &burn::tensor::Device::flex());
        Batch::default()
            .with_tensor("view_a", random(6, 4, 1).select(0, at.clone()))
            .with_tensor("logits", random(6, 2, 2).select(0, at))
            .with_indices("labels", order.iter().map(|&i| LABELS[i]).collect())
            .with_indices("bias", order.iter().map(|&i| BIAS[i]).collect())
    }

    #[test]
    fn gradient_matches_differences() {
        for variant in [Variant::Paper, Variant::Released] {
            let objective = End { variant, ..End::default() };
            assert!(gradient_error(&objective, &batch([0, 1, 2, 3, 4, 5])) < 1e-6);
        }
    }

    #[test]
    fn only_the_papers_form_ignores_the_order() {
        let (given, shuffled) = (batch([0, 1, 2, 3, 4, 5]), batch([5, 2, 0, 4, 3, 1]));
        let change = |variant| {
            let objective = End { variant, ..End::default() };
            (value(&objective, &given) - value(&objective, &shuffled)).abs()
        };
        assert!(change(Variant::Paper) < 1e-12);
        assert!(change(Variant::Released) > 1e-3);
    }

    #[test]
    fn without_pairs_it_is_cross_entropy() {
        let alone = batch([0, 1, 2, 3, 4, 5]).with_indices("bias", vec![0; 6]);
        let no_orthogonal = End { alpha: 0.0, ..End::default() };
        let evaluation = no_orthogonal.evaluate(&alone).unwrap();
        let Aux::Scalar(ce) = evaluation.aux["ce"].clone() else { unreachable!() };
        assert!((evaluation.loss - ce).abs().into_scalar::<f64>() < 1e-12);
    }
}
