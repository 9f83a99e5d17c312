//! Code shared by the objectives on class scores: checked targets, cross-entropy by sample, autodiff over named
//! inputs.

use burn::tensor::activation::log_softmax;
use burn::tensor::{IndexingUpdateOp, Int, Tensor};

use super::objective::{Evaluation, differentiate};
use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::numeric::matrix::indices;
use simile_kernels::RowSoftmax;

/// The classes of `input` as targets of `logits`, `[n, 1]`.
pub(crate) fn targets(
    batch: &Batch,
    objective: &str,
    input: &str,
    logits: &Tensor<2>,
) -> Result<Tensor<2, Int>> {
    let [rows, classes] = logits.dims();
    if rows == 0 || classes == 0 {
        return Err(Error::shape("logits", "at least one row and one class", format!("{rows}x{classes}")));
    }
    let labels = batch.indices(objective, input, rows)?;
    below(input, labels, classes)?;
    Ok(indices(labels, &logits.device()).unsqueeze_dim(1))
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
    let logits = batch.tensor(objective, logits)?;
    let targets = targets(batch, objective, "labels", &logits)?;
    Ok(cross_entropy(logits, &targets))
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
    features.matmul(weight.transpose()) + bias
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

    use super::super::finite_difference::read;
    use super::super::{build, names};
    use super::*;
    use crate::numeric::matrix::Matrix;

    /// Every input of the objectives on class scores, `n` samples that all have class 1 and bias 0.
    fn batch(n: usize, scale: f64, dtype: DType) -> Batch {
        let place = |m: Matrix| m.to_tensor(&Device::flex(), dtype);
        let scores =
            |columns: usize| place(Matrix::from_fn(n, columns, |_, j| if j == 0 { scale } else { -scale }));
        let square =
            |rows: usize, columns: usize| place(Matrix::from_fn(rows, columns, |i, j| (i + 2 * j) as f64));
        (["logits", "logits_b", "logits_d", "f_logits", "g_logits", "bias_logits", "view_a", "view_b"]
            .into_iter())
        .fold(Batch::default(), |batch, name| batch.with_tensor(name, scores(2)))
        .with_tensor("features", scores(2))
        .with_tensor("f_features", scores(3))
        .with_tensor("g_features", scores(3))
        .with_tensor("fc_weight", square(2, 2))
        .with_tensor("fc_bias", square(1, 2))
        .with_condition("prior", Matrix::from_fn(1, 2, |_, _| 0.5))
        .with_indices("labels", vec![1; n])
        .with_indices("bias", vec![0; n])
        .with_indices("errors", vec![1; n])
    }

    fn on_scores() -> impl Iterator<Item = &'static str> {
        const NAMES: [&str; 13] = [
            "cross-entropy",
            "max-margin",
            "biasbal",
            "lnl",
            "lnl-adversary",
            "di",
            "end",
            "learned-mixin",
            "rubi",
            "rebias-hsic",
            "gce",
            "lff",
            "jtt",
        ];
        NAMES.into_iter().inspect(|name| assert!(names().any(|known| known == *name)))
    }

    #[test]
    fn awkward_batches_stay_finite() {
        for name in on_scores() {
            for variant in ["paper", "released"] {
                let parameters =
                    if name == "di" { serde_json::json!({ "domains": 1 }) } else { serde_json::Value::Null };
                let objective = build(name, Some(variant), parameters).unwrap();
                let (outputs, samples) =
                    (if name == "learned-mixin" { 1 } else { 2 }, if name == "rebias-hsic" { 4 } else { 1 });
                for (scale, dtype) in
                    [(0.0, DType::F64), (1e4, DType::F64), (1e4, DType::F32), (-1e4, DType::F32)]
                {
                    let place = |m: Matrix| m.to_tensor(&Device::flex(), dtype);
                    let mut batch = batch(samples, scale, dtype);
                    if name == "rubi" || name == "learned-mixin" {
                        batch = batch
                            .with_tensor(
                                "fc_weight",
                                place(Matrix::from_fn(outputs, 3, |i, j| (i + j) as f64)),
                            )
                            .with_tensor("fc_bias", place(Matrix::zeros(1, outputs)));
                    }
                    let evaluation = objective.evaluate(&batch).unwrap();
                    let loss = read(evaluation.loss.unsqueeze());
                    assert!(loss[(0, 0)].is_finite(), "{name} {variant} at {scale}: {}", loss[(0, 0)]);
                    for (input, gradient) in evaluation.gradients {
                        let gradient = read(gradient);
                        assert!(
                            gradient.first_not_finite().is_none(),
                            "{name} {variant} at {scale}: {input}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_order_of_the_batch_does_not_matter() {
        let scores = Matrix::from_fn(5, 3, |i, j| ((i * 5 + j * 7) % 11) as f64 / 3.0 - 1.0);
        let labels = [0, 2, 1, 1, 0];
        let value = |name: &str, order: &[usize]| {
            let batch = (["logits", "logits_b", "features"].into_iter())
                .fold(Batch::default(), |batch, name| {
                    batch.with_tensor(name, scores.select(order).to_tensor(&Device::flex(), DType::F64))
                })
                .with_tensor("logits_d", scores.select(order).to_tensor(&Device::flex(), DType::F64) * 0.5)
                .with_tensor("fc_weight", scores.select(&[0, 1, 2]).to_tensor(&Device::flex(), DType::F64))
                .with_indices("labels", order.iter().map(|&i| labels[i]).collect())
                .with_indices("errors", order.iter().map(|&i| i % 2).collect());
            let objective = build(name, None, serde_json::Value::Null).unwrap();
            read(objective.evaluate(&batch).unwrap().loss.unsqueeze())[(0, 0)]
        };
        for name in ["cross-entropy", "max-margin", "gce", "lff", "jtt"] {
            assert!((value(name, &[0, 1, 2, 3, 4]) - value(name, &[3, 0, 4, 2, 1])).abs() < 1e-12, "{name}");
        }
    }
}
