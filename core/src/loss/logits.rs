//! Code shared by the objectives on class scores: checked targets, weights and cross-entropy by sample, autodiff over named
//! inputs.

use burn::tensor::activation::log_softmax;
use burn::tensor::{IndexingUpdateOp, Int, Tensor};

use super::objective::{Evaluation, differentiate};
use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::numeric::matrix::indices;
use simile_kernels::{RowSoftmax, gemm};

/// The classes of an input as targets of scores `[n, classes]`, `[n, 1]`, from the names of both inputs.
pub(crate) fn targets(
    batch: &Batch,
    objective: &str,
    [scores_name, classes_name]: [&str; 2],
    scores: &Tensor<2>,
) -> Result<Tensor<2, Int>> {
    check_scores(scores_name, scores)?;
    let [rows, classes] = scores.dims();
    let labels = batch.indices(objective, classes_name, rows)?;
    below(classes_name, &labels, classes)?;
    Ok(indices(&labels, &scores.device()).unsqueeze_dim(1))
}

/// The input `weights`, one for each row of `logits`, if given: on the host, or as a tensor.
pub(crate) fn sample_weights(
    batch: &Batch,
    objective: &str,
    logits: &Tensor<2>,
) -> Result<Option<Tensor<1>>> {
    if batch.tracked("weights").is_some() {
        let (weights, rows) = (batch.tensor(objective, "weights")?, logits.dims()[0]);
        if weights.dims() != [rows, 1] {
            let shape = format!("shape {:?}", weights.dims());
            return Err(Error::shape("weights", format!("shape [{rows}, 1]"), shape));
        }
        return Ok(Some(weights.cast(logits.dtype()).squeeze_dim(1)));
    }
    if !batch.is_given("weights") {
        return Ok(None);
    }
    let weights = batch.condition(objective, "weights", logits.dims()[0])?;
    if weights.columns() != 1 {
        return Err(Error::shape("weights", "1 column", format!("{} columns", weights.columns())));
    }
    Ok(Some(weights.to_tensor(&logits.device(), logits.dtype()).squeeze_dim(1)))
}

/// Checks that there is a score.
pub(crate) fn check_scores(input: &str, scores: &Tensor<2>) -> Result<()> {
    match scores.dims() {
        [rows, classes] if rows == 0 || classes == 0 => {
            Err(Error::shape(input, "at least one row and one class", format!("{rows}x{classes}")))
        }
        _ => Ok(()),
    }
}

/// Checks that every entry of an integer input is below `count`.
pub(crate) fn below(input: &str, values: &[usize], count: usize) -> Result<()> {
    match values.iter().position(|&value| value >= count) {
        None => Ok(()),
        Some(row) => Err(Error::shape(
            input,
            format!("integers below {count}"),
            format!("{} in row {row}", values[row]),
        )),
    }
}

/// `log sum_c exp z_ic - z_iy` of each row, `[n]`.
pub(crate) fn cross_entropy(logits: Tensor<2>, targets: &Tensor<2, Int>) -> Tensor<1> {
    log_softmax(logits, 1).gather(1, targets.clone()).squeeze_dim::<1>(1).neg()
}

/// The cross-entropy of each sample with its gradient with respect to the sample's scores.
pub(crate) struct CrossEntropies {
    /// `[n]`.
    pub(crate) values: Tensor<1>,
    /// `softmax z_i - [c = y_i]`, `[n, classes]`.
    pub(crate) gradient: Tensor<2>,
}

impl CrossEntropies {
    pub(crate) fn new(logits: Tensor<2>, targets: &Tensor<2, Int>) -> Self {
        let own = logits.clone().gather(1, targets.clone());
        let RowSoftmax { log_sum, softmax } = RowSoftmax::new(logits);
        let gradient = softmax.scatter(1, targets.clone(), own.full_like(-1.0), IndexingUpdateOp::Add);
        Self { values: log_sum - own.squeeze_dim(1), gradient }
    }

    /// The mean over the samples with its gradient.
    pub(crate) fn mean(self) -> (Tensor<1>, Tensor<2>) {
        let share = 1.0 / self.values.dims()[0] as f64;
        (self.values.mean(), self.gradient * share)
    }
}

/// The cross-entropy of each sample of a batch under the scores `logits`, `[n]`.
pub(crate) fn cross_entropies(batch: &Batch, objective: &str, logits: &str) -> Result<Tensor<1>> {
    let scores = batch.tensor(objective, logits)?;
    let targets = targets(batch, objective, [logits, "labels"], &scores)?;
    Ok(cross_entropy(scores, &targets))
}

/// `h_i = - sum_c p_ic log p_ic` with `p_i = softmax z_i`, `[n]`, and its gradient with respect to the scores,
/// `- p_ic (log p_ic + h_i)`, `[n, classes]`.
pub(crate) fn entropy(logits: Tensor<2>) -> (Tensor<1>, Tensor<2>) {
    let RowSoftmax { log_sum, softmax } = RowSoftmax::new(logits.clone());
    let log_probabilities = logits - log_sum.unsqueeze_dim(1);
    let entropy = (softmax.clone() * log_probabilities.clone()).sum_dim(1).neg();
    let gradient = (softmax * (log_probabilities + entropy.clone())).neg();
    (entropy.squeeze_dim(1), gradient)
}

/// `features weight^T + bias`: a final layer whose weights are inputs of the objective.
///
/// `weight` is `[classes, features]` and `bias` is `[1, classes]`.
pub(crate) fn linear(features: Tensor<2>, weight: Tensor<2>, bias: Tensor<2>) -> Tensor<2> {
    gemm(features, weight.transpose()) + bias
}

/// Checks that `fc_weight` and `fc_bias` map `features` to `outputs` numbers.
pub(crate) fn check_linear(
    features: &Tensor<2>,
    weight: &Tensor<2>,
    bias: &Tensor<2>,
    outputs: usize,
) -> Result<()> {
    let width = features.dims()[1];
    check_shape("fc_weight", weight, [outputs, width])?;
    check_shape("fc_bias", bias, [1, outputs])
}

/// Checks the size of a tensor input.
pub(crate) fn check_shape(input: &str, tensor: &Tensor<2>, [rows, columns]: [usize; 2]) -> Result<()> {
    let [found_rows, found_columns] = tensor.dims();
    if [found_rows, found_columns] == [rows, columns] {
        Ok(())
    } else {
        Err(Error::shape(input, format!("{rows}x{columns}"), format!("{found_rows}x{found_columns}")))
    }
}

/// Evaluates a function of named inputs by autodiff; the gradients carry the same names.
pub(crate) fn grad_inputs<const N: usize>(
    inputs: [(&str, Tensor<2>); N],
    value: impl FnOnce([Tensor<2>; N]) -> Tensor<1>,
) -> Evaluation {
    let names = inputs.each_ref().map(|(name, _)| *name);
    let tensors = inputs.map(|(_, tensor)| tensor);
    let (loss, gradients) = differentiate(tensors, value);
    names.iter().zip(gradients).fold(Evaluation::new(loss), |e, (name, g)| e.with_gradient(name, g))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};
    use serde_json::json;

    use super::super::finite_difference::read;
    use super::super::spec::{Family, InputKind, Spec};
    use super::super::{build, specs};
    use super::*;
    use crate::numeric::matrix::Matrix;

    /// Every input of an objective, for samples that all have class 1 and bias 0, with scores of that size.
    fn batch(spec: &Spec, samples: usize, scale: f64, dtype: DType) -> Batch {
        let number = |name: &str| match name {
            "n" | "m" => samples,
            "domains" => 1,
            _ => 2,
        };
        spec.inputs.iter().fold(Batch::default(), |batch, input| {
            let dims = input.dims(number);
            let (rows, columns) = (dims[0], dims.get(1).copied().unwrap_or(1));
            let matrix = Matrix::from_fn(rows, columns, |i, j| match (input.is_by_sample(), j) {
                (true, 0) => scale,
                (true, _) => -scale,
                (false, _) => (i + 2 * j) as f64,
            });
            match input.kind {
                InputKind::Embeddings | InputKind::Rows => {
                    batch.with_tensor(input.name, matrix.to_tensor(&Device::flex(), dtype))
                }
                InputKind::Host => {
                    batch.with_condition(input.name, Matrix::from_fn(rows, columns, |_, _| 0.5))
                }
                InputKind::Integers | InputKind::Clusters => {
                    batch.with_indices(input.name, vec![usize::from(!input.name.contains("bias")); samples])
                }
            }
        })
    }

    #[test]
    fn scores_without_rows_are_named_as_they_are_given() {
        for (name, scores) in [
            ("cross-entropy", "logits"),
            ("learned-mixin", "f_logits"),
            ("rubi", "f_logits"),
            ("lff", "logits_b"),
            ("lnl-adversary", "bias_logits"),
            ("max-margin", "features"),
        ] {
            let objective = build(name, None, json!({})).unwrap();
            let error = objective.evaluate(&batch(objective.spec(), 0, 1.0, DType::F64)).unwrap_err();
            assert!(error.to_string().contains(&format!("`{scores}` has 0x2")), "{name}: {error}");
        }
    }

    #[test]
    fn awkward_batches_stay_finite() {
        for spec in specs().filter(|spec| spec.family == Family::ClassScores) {
            let parameters = spec.parameter("domains").map_or_else(|| json!({}), |_| json!({ "domains": 1 }));
            for variant in ["paper", "released"] {
                let objective = build(spec.name, Some(variant), parameters.clone()).unwrap();
                // The independence criterion needs four samples.
                for samples in [1, 4] {
                    for (scale, dtype) in
                        [(0.0, DType::F64), (1e4, DType::F64), (1e4, DType::F32), (-1e4, DType::F32)]
                    {
                        let evaluation = objective.evaluate(&batch(spec, samples, scale, dtype));
                        assert!(evaluation.is_ok() || samples == 1, "{}: {evaluation:?}", spec.name);
                        let Ok(evaluation) = evaluation else { continue };
                        let loss = read(evaluation.loss.unsqueeze());
                        assert!(
                            loss[(0, 0)].is_finite(),
                            "{} {variant} at {scale}: {}",
                            spec.name,
                            loss[(0, 0)]
                        );
                        for (input, gradient) in evaluation.gradients {
                            let gradient = read(gradient);
                            let is_finite = gradient.first_not_finite().is_none();
                            assert!(is_finite, "{} {variant} at {scale}: {input}", spec.name);
                        }
                    }
                }
            }
        }
    }
}
