//! JTT, just train twice: samples that a first, briefly trained network misclassifies get more weight for the
//! second.
//!
//! ```text
//! L = 1/n sum_i w_i CE(z_i, y_i)
//! paper     w_i = 1 + (up_weight - 1) e_i
//! released  w_i = 1 + up_weight e_i
//! ```
//!
//! with the second network's scores `logits` `z`, `[n, classes]`, the classes `labels` `y`, and `errors` `e`, 1 for a sample
//! of the error set and 0 otherwise ([`error_set`]). Liu et al., *Just Train Twice: Improving Group Robustness without
//! Training Group Information* (2021), section 4.
//!
//! Released code puts the whole training set and `up_weight` copies of the error set together, so that an error counts `1 +
//! up_weight` times. It draws batches from that list; weighting the samples of a uniform draw has the same expectation, up to the
//! mean weight `m`, a constant factor of the learning rate. With weight decay it is not only that: an epoch of the list has `m`
//! times as many steps, each with its decay, so that here the decay is `m` times weaker against the gradient. [`error_weights`]
//! gives the weights of a whole training set, also for drawing. `up_weight` is 20 by default; published: 50 on CelebA, 100 on
//! Waterbirds.
//!
//! Use it if group labels exist at most for a validation set. With an empty error set it is cross-entropy. It is
//! defined on every batch of at least one sample.

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::logits::{below, cross_entropy, grad_inputs, targets};
use crate::loss::objective::{Evaluation, Objective, Variant};
use crate::loss::spec::{
    CLASSES, Described, Family, Form, Head, Input, InputNetworks, LOGITS, Parameter, Range, Spec,
};
use crate::numeric::matrix::Matrix;

/// The second network's loss; see the [module](self). Inputs: `logits`, `[n, classes]`; `labels`, `errors`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Jtt {
    /// Weight of the error set, 0 to 1e12.
    pub up_weight: f64,
    /// An error counts `up_weight` times (`paper`) or `1 + up_weight` times (`released`).
    pub variant: Variant,
}

impl Default for Jtt {
    fn default() -> Self {
        Self { up_weight: 20.0, variant: Variant::Paper }
    }
}

impl Described for Jtt {
    const SPEC: Spec = Spec {
        name: "jtt",
        title: "Just train twice",
        family: Family::ClassScores,
        summary: "labels, and the samples that an earlier network got wrong",
        work: "Liu et al., Just Train Twice: Improving Group Robustness without Training Group Information, 2021, section 4",
        formula: "L = 1/n sum_i w_i CE(z_i, y_i)\n\
            paper     w_i = 1 + (up_weight - 1) e_i\n\
            released  w_i = 1 + up_weight e_i",
        symbols: "e_i is 1 for a sample of the error set, else 0",
        inputs: &[
            LOGITS,
            CLASSES.shape("[n]"),
            Input::integers("errors", "[n]", "1 for a sample of the error set, else 0"),
        ],
        head: Head::ClassScores,
        networks: InputNetworks::Earlier,
        algorithms: &["jtt"],
        variants: &[
            Form::new("paper", "an error counts up_weight times"),
            Form::new("released", "an error counts 1 + up_weight times"),
        ],
        parameters: &[Parameter::number(
            "up_weight",
            Range::Factor,
            20.0,
            "weight of the samples of the error set",
        )],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Jtt {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let targets = targets(batch, self.name(), ["logits", "labels"], &logits)?;
        let errors = batch.indices(self.name(), "errors", logits.dims()[0])?;
        below("errors", &errors, 2)?;
        let weights: Vec<f64> = errors.iter().map(|&error| self.weight(error == 1)).collect();
        let place = (&logits.device(), logits.dtype());
        let weights = Tensor::<1>::from_data(TensorData::new(weights, [errors.len()]), place);
        Ok(grad_inputs([("logits", logits)], |[logits]| (cross_entropy(logits, &targets) * weights).mean()))
    }
}

impl Jtt {
    /// The weight of a sample inside or outside the error set.
    fn weight(&self, is_error: bool) -> f64 {
        match (is_error, self.variant) {
            (false, _) => 1.0,
            (true, Variant::Paper) => self.up_weight,
            (true, Variant::Released) => 1.0 + self.up_weight,
        }
    }
}

/// The indices of the samples whose largest score is not their class, in order: the errors of the first network.
///
/// # Errors
/// [`Error::Shape`] if `scores` does not have one row for each label.
pub fn error_set(scores: &Matrix, labels: &[usize]) -> Result<Vec<usize>> {
    if scores.rows() != labels.len() {
        return Err(Error::shape(
            "scores",
            format!("{} rows", labels.len()),
            format!("{} rows", scores.rows()),
        ));
    }
    let largest = |row: &[f64]| (0..row.len()).max_by(|&i, &j| row[i].total_cmp(&row[j]).then(j.cmp(&i)));
    Ok((0..labels.len()).filter(|&i| largest(scores.row(i)) != Some(labels[i])).collect())
}

/// The weight of each of `samples` training samples, given the error set.
///
/// # Errors
/// `up_weight` is below 0, or an error is not a sample.
pub fn error_weights(samples: usize, errors: &[usize], up_weight: f64, variant: Variant) -> Result<Vec<f64>> {
    let objective = Jtt { up_weight, variant };
    objective.check()?;
    below("errors", errors, samples)?;
    let mut weights = vec![1.0; samples];
    for &error in errors {
        weights[error] = objective.weight(true);
    }
    Ok(weights)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, value};
    use crate::loss::supervised::cross_entropy::CrossEntropy;

    fn batch() -> Batch {
        Batch::default()
            .with_tensor("logits", random(4, 3, 1))
            .with_indices("labels", vec![0, 2, 1, 1])
            .with_indices("errors", vec![0, 1, 1, 0])
    }

    #[test]
    fn it_is_cross_entropy_of_the_repeated_set() {
        let weights = error_weights(4, &[1, 2], 2.0, Variant::Released).unwrap();
        assert_eq!(weights, [1.0, 3.0, 3.0, 1.0]);
        let jtt = Jtt { up_weight: 2.0, variant: Variant::Released };
        let weighted = batch().with_condition("weights", Matrix::column(&weights));
        assert!((value(&jtt, &batch()) - value(&CrossEntropy::default(), &weighted)).abs() < 1e-12);
    }

    #[test]
    fn errors_are_the_samples_of_another_largest_score() {
        let scores = Matrix::new(3, 2, vec![1.0, 0.0, 1.0, 2.0, 0.5, 0.5]).unwrap();
        assert_eq!(error_set(&scores, &[0, 0, 0]).unwrap(), [1]);
    }
}
