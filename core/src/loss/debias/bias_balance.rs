//! BiasBal: cross-entropy with scores shifted by the frequency of a class among samples of the same bias.
//!
//! ```text
//! L = 1/n sum_i CE( z_i + log( p(. | b_i) + min_prob ), y_i )
//! ```
//!
//! with the scores `logits` `z`, `[n, classes]`, the classes `labels` `y` and bias attributes `bias` `b`, `[n]`, and the
//! table `prior`, `[biases, classes]`, of `p(y | b)` in the training set ([`bias_prior`]). Hong and Yang, *Unbiased
//! Classification through Bias-Contrastive and Bias-Balanced Learning* (2021): the shift makes the
//! softmax a posterior of the biased training set, so the scores themselves become one of a balanced set. It
//! is used in training only; at test time the scores are not shifted.
//!
//! `min_prob` is 1e-9 as released: a class that never occurs with a bias is shifted by -20.7. Released code adds
//! the shift in place, which changes the scores of the caller; the value is the same.
//!
//! Use it if the bias attribute of every training sample is known. It is defined on every batch of at least one
//! sample; a sample of an empty cell of the table has a large but finite loss.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, shown};
use crate::loss::batch::Batch;
use crate::loss::logits::{CrossEntropies, below, targets};
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{BIAS, CLASSES, Described, Family, Head, Input, LOGITS, Parameter, Range, Spec};
use crate::numeric::matrix::{Matrix, indices};

/// BiasBal; see the [module](self). Inputs: `logits`, `[n, classes]`; `labels`, `bias`, `[n]`; `prior`, `[biases,
/// classes]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BiasBalance {
    /// Added to every probability before the logarithm, above 0.
    pub min_prob: f64,
}

impl Default for BiasBalance {
    fn default() -> Self {
        Self { min_prob: 1e-9 }
    }
}

impl BiasBalance {
    /// The scores of each sample, `[n, classes]`, with `log(p(. | b_i) + min_prob)` added. The table is copied to their device, and
    /// each sample takes its row there.
    ///
    /// # Errors
    /// The prior has another number of classes, an entry that is no probability, or no row for one of the biases.
    pub(super) fn shifted(&self, logits: &Tensor<2>, prior: &Matrix, bias: &[usize]) -> Result<Tensor<2>> {
        let ([_, classes], device) = (logits.dims(), logits.device());
        if prior.columns() != classes {
            let columns = format!("{} columns", prior.columns());
            return Err(Error::shape("prior", format!("{classes} columns, one for each class"), columns));
        }
        if let Some(at) = prior.data().iter().position(|p| !(0.0..=1.0).contains(p)) {
            let entry = format!("{} in row {}", shown(prior.data()[at]), at / classes);
            return Err(Error::shape("prior", "probabilities from 0 to 1", entry));
        }
        below("bias", bias, prior.rows())?;
        let logarithms =
            Matrix::from_fn(prior.rows(), classes, |i, class| (prior[(i, class)] + self.min_prob).ln());
        let logarithms = logarithms.to_tensor(&device, logits.dtype());
        Ok(logits.clone() + logarithms.select(0, indices(bias, &device)))
    }
}

impl Described for BiasBalance {
    const SPEC: Spec = Spec {
        name: "biasbal",
        title: "BiasBal",
        family: Family::ClassScores,
        summary: "labels and bias labels; scores shifted by the prior",
        work: "Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, 2021",
        formula: "L = 1/n sum_i CE( z_i + log( p(. | b_i) + min_prob ), y_i )",
        symbols: "z the scores, y the classes, b the bias",
        inputs: &[
            LOGITS,
            CLASSES.shape("[n]"),
            BIAS.shape("[n]"),
            Input::host("prior", "[biases, classes]", "p(class | bias) in the training set"),
        ],
        head: Head::ClassScores,
        algorithms: &["single", "cached"],
        parameters: &[Parameter::number(
            "min_prob",
            Range::Positive,
            1e-9,
            "added to every probability before the logarithm",
        )],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for BiasBalance {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let [rows, _] = logits.dims();
        let targets = targets(batch, self.name(), ["logits", "labels"], &logits)?;
        let bias = batch.indices(self.name(), "bias", rows)?;
        let prior = batch.table(self.name(), "prior")?;
        let entropies = CrossEntropies::new(self.shifted(&logits, prior, &bias)?, &targets);
        let per_sample = entropies.values.clone();
        let (loss, gradient) = entropies.mean();
        let evaluation = Evaluation::new(loss).with_gradient("logits", gradient);
        Ok(evaluation.with_aux("per_sample", Aux::Vector(per_sample)))
    }
}

/// The table `p(y | b)` of a training set, `[bias_count, classes]`; the row of a bias without samples is uniform.
///
/// # Errors
/// The lists differ in length, or contain an integer that is not below `classes` or `bias_count`.
pub fn bias_prior(labels: &[usize], bias: &[usize], classes: usize, bias_count: usize) -> Result<Matrix> {
    if labels.len() != bias.len() {
        return Err(Error::shape("bias", format!("{} entries", labels.len()), format!("{}", bias.len())));
    }
    below("labels", labels, classes)?;
    below("bias", bias, bias_count)?;
    let mut table = Matrix::zeros(bias_count, classes);
    for (&label, &bias) in labels.iter().zip(bias) {
        table[(bias, label)] += 1.0;
    }
    for bias in 0..bias_count {
        let count: f64 = table.row(bias).iter().sum();
        table
            .row_mut(bias)
            .iter_mut()
            .for_each(|p| *p = if count > 0.0 { *p / count } else { 1.0 / classes as f64 });
    }
    Ok(table)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, value};
    use crate::loss::supervised::cross_entropy::CrossEntropy;

    fn batch(prior: Matrix) -> Batch {
        Batch::default()
            .with_tensor("logits", random(4, 3, 2))
            .with_indices("labels", vec![0, 1, 2, 2])
            .with_indices("bias", vec![1, 1, 0, 1])
            .with_condition("prior", prior)
    }

    #[test]
    fn without_correlation_it_is_cross_entropy() {
        let batch = batch(Matrix::from_fn(2, 3, |_, _| 1.0 / 3.0));
        let expected = value(&CrossEntropy::default(), &batch);
        assert!((value(&BiasBalance::default(), &batch) - expected).abs() < 1e-12);
    }

    #[test]
    fn prior_rows_are_conditional_on_the_bias() {
        let prior = bias_prior(&[0, 0, 1, 1], &[0, 0, 0, 2], 2, 3).unwrap();
        assert_eq!(prior.row(0), [2.0 / 3.0, 1.0 / 3.0]);
        assert_eq!(prior.row(1), [0.5, 0.5]);
        assert_eq!(prior.row(2), [0.0, 1.0]);
    }
}
