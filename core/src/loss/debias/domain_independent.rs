//! Domain-independent training: one classifier for each value of the bias, on shared features.
//!
//! ```text
//! L = 1/n sum_i CE(z_i[block b_i], y_i)
//! ```
//!
//! with the scores `logits` `z`, `[n, domains * classes]`, one block of classes for each domain, the classes `labels`
//! `y` and the domains `bias` `b`. The softmax runs within the sample's own block, so a block is trained by its
//! domain alone. Wang et al., *Towards Fairness in Visual Recognition* (2020), section 4.4.
//!
//! At test time the domain is not used: the blocks [are combined](DomainIndependent::infer) by one of the rules of the
//! paper. The comparison of Hong and Yang sums log-probabilities; the paper prefers the sum of raw scores. Training
//! is the same.
//!
//! `domains` must be given, because a batch need not contain every domain. The loss is defined on every batch of at
//! least one sample.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::logits::{below, check_scores, cross_entropy, grad_inputs, targets};
use crate::loss::objective::{Evaluation, Objective};
use crate::loss::spec::{BIAS, CLASSES, Described, Family, Head, Input, Parameter, Spec};
use crate::numeric::matrix::{Matrix, indices};

/// Domain-independent training; see the [module](self). Inputs: `logits`, `[n, domains * classes]`; `bias`,
/// `labels`, `[n]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DomainIndependent {
    /// Number of values of the bias, at least 1. The default, 0, is an error: it has to be given.
    pub domains: usize,
}

/// The rule that combines the blocks of a sample into one score for each class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inference {
    /// The sum of the blocks' raw scores: the paper's choice.
    #[default]
    SumOfScores,
    /// The sum of the blocks' log-probabilities: the comparison of Hong and Yang.
    SumOfLogProbabilities,
    /// The sum of the blocks' probabilities.
    SumOfProbabilities,
    /// The largest score of any block.
    Largest,
}

impl DomainIndependent {
    fn classes(&self, columns: usize) -> Result<usize> {
        if columns > 0 && columns.is_multiple_of(self.domains) {
            Ok(columns / self.domains)
        } else {
            let expected = format!("a multiple of {} columns (domains)", self.domains);
            Err(Error::shape("logits", expected, format!("{columns} columns")))
        }
    }

    /// One score for each class, `[n, classes]`, from scores `[n, domains * classes]` of samples of any domain.
    ///
    /// # Errors
    /// [`Error::Shape`] if the columns do not divide into domains.
    pub fn infer(&self, scores: &Matrix, rule: Inference) -> Result<Matrix> {
        self.check()?;
        let classes = self.classes(scores.columns())?;
        let mut merged = Matrix::zeros(scores.rows(), classes);
        for i in 0..scores.rows() {
            let blocks = scores.row(i).chunks(classes);
            for (domain, block) in blocks.enumerate() {
                let largest = block.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let log_sum = largest + block.iter().map(|s| (s - largest).exp()).sum::<f64>().ln();
                for (class, &score) in block.iter().enumerate() {
                    let merged = &mut merged[(i, class)];
                    match rule {
                        Inference::SumOfScores => *merged += score,
                        Inference::SumOfLogProbabilities => *merged += score - log_sum,
                        Inference::SumOfProbabilities => *merged += (score - log_sum).exp(),
                        Inference::Largest if domain == 0 => *merged = score,
                        Inference::Largest => *merged = merged.max(score),
                    }
                }
            }
        }
        Ok(merged)
    }
}

impl Described for DomainIndependent {
    const SPEC: Spec = Spec {
        name: "di",
        title: "Domain-independent",
        family: Family::ClassScores,
        summary: "labels and bias labels; a classifier for each value of the bias",
        work: "Wang et al., Towards Fairness in Visual Recognition, 2020, section 4.4",
        formula: "L = 1/n sum_i CE(z_i[block b_i], y_i)",
        symbols: "z_i[block b] the scores of the classes in the block of domain b",
        inputs: &[
            Input::rows(
                "logits",
                "[n, domains * classes]",
                "the scores of each class, a block for each domain",
            ),
            BIAS.shape("[n]"),
            CLASSES.shape("[n]"),
        ],
        head: Head::ClassScoresByBias,
        algorithms: &["single", "cached"],
        parameters: &[Parameter::required_integer(
            "domains",
            [1, u64::MAX],
            "number of values of the bias; has to be given",
        )],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for DomainIndependent {
    fn check(&self) -> Result<()> {
        if self.domains == 0 {
            // A setting that is not given is 0.
            return Err(Error::parameter(
                "domains",
                "missing or 0",
                "expected the number of values of the bias",
            ));
        }
        Ok(())
    }

    fn class_scores(&self, scores: Matrix) -> Result<Matrix> {
        self.infer(&scores, Inference::default())
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let [rows, columns] = logits.dims();
        let classes = self.classes(columns)?;
        check_scores("logits", &logits)?;
        let bias = batch.indices(self.name(), "bias", rows)?;
        below("bias", &bias, self.domains)?;
        let blocks: Vec<usize> =
            bias.iter().enumerate().map(|(row, domain)| row * self.domains + domain).collect();
        let blocks = indices(&blocks, &logits.device());
        let domain_logits =
            |logits: Tensor<2>| logits.reshape([rows * self.domains, classes]).select(0, blocks.clone());
        let targets = targets(batch, self.name(), ["logits", "labels"], &domain_logits(logits.clone()))?;
        Ok(grad_inputs([("logits", logits)], |[logits]| {
            cross_entropy(domain_logits(logits), &targets).mean()
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, read, value};
    use crate::loss::supervised::cross_entropy::CrossEntropy;

    fn batch() -> Batch {
        Batch::default()
            .with_tensor("logits", random(5, 6, 4))
            .with_indices("labels", vec![0, 2, 1, 1, 2])
            .with_indices("bias", vec![0, 1, 1, 0, 1])
    }

    fn two_domains() -> DomainIndependent {
        DomainIndependent { domains: 2 }
    }

    #[test]
    fn the_gradient_stays_in_the_own_block() {
        let gradient = read(two_domains().evaluate(&batch()).unwrap().gradients["logits"].clone());
        assert_eq!(gradient.row(0)[3..], [0.0; 3]);
        assert_eq!(gradient.row(1)[..3], [0.0; 3]);
    }

    #[test]
    fn one_domain_is_cross_entropy() {
        let batch = batch().with_indices("bias", vec![0; 5]);
        let one = DomainIndependent { domains: 1 };
        assert!((value(&one, &batch) - value(&CrossEntropy::default(), &batch)).abs() < 1e-12);
    }

    #[test]
    fn rules_of_inference() {
        let scores = Matrix::new(1, 4, vec![1.0, 2.0, 5.0, -1.0]).unwrap();
        let infer = |rule| two_domains().infer(&scores, rule).unwrap();
        assert_eq!(infer(Inference::SumOfScores).row(0), [6.0, 1.0]);
        assert_eq!(infer(Inference::Largest).row(0), [5.0, 2.0]);
        let probabilities = infer(Inference::SumOfProbabilities);
        assert!((probabilities[(0, 0)] + probabilities[(0, 1)] - 2.0).abs() < 1e-12);
        let first = (1.0_f64.exp() / (1.0_f64.exp() + 2.0_f64.exp())).ln();
        let second = (5.0_f64.exp() / (5.0_f64.exp() + (-1.0_f64).exp())).ln();
        assert!((infer(Inference::SumOfLogProbabilities)[(0, 0)] - first - second).abs() < 1e-12);
    }

    #[test]
    fn columns_must_divide_into_domains() {
        let three = DomainIndependent { domains: 4 };
        assert!(three.evaluate(&batch()).unwrap_err().to_string().contains("multiple of 4"));
        let refused = DomainIndependent::default().check().unwrap_err().to_string();
        assert!(refused.contains("`domains` is missing"), "{refused}");
    }
}
