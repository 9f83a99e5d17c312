//! What the objectives on class scores share: checked targets, cross-entropy by sample, autodiff over named inputs.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use super::{Evaluation, differentiate};
use crate::batch::Batch;
use crate::contrast::indices;
use crate::error::{Error, Result};

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
        Some(row) => {
            Err(Error::shape(input, format!("integers below {count}"), format!("{} in row {row}", values[row])))
        }
    }
}

/// `log sum_c exp z_ic - z_iy` of each row, `[n]`.
pub(crate) fn cross_entropy(logits: Tensor<2>, targets: &Tensor<2, Int>) -> Tensor<1> {
    log_softmax(logits, 1).gather(1, targets.clone()).squeeze_dim::<1>(1).neg()
}

/// `- sum_c p_ic log p_ic` of each row, `[n]`.
pub(crate) fn entropy(logits: Tensor<2>) -> Tensor<1> {
    let log_probabilities = log_softmax(logits, 1);
    (log_probabilities.clone().exp() * log_probabilities).sum_dim(1).squeeze_dim::<1>(1).neg()
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
pub(crate) fn of_inputs<const N: usize>(
    inputs: [(&str, Tensor<2>); N],
    value: impl FnOnce([Tensor<2>; N]) -> Tensor<1>,
) -> Evaluation {
    let names = inputs.each_ref().map(|(name, _)| *name);
    let tensors = inputs.map(|(_, tensor)| tensor);
    let (loss, gradients) = differentiate(tensors, value);
    names.iter().zip(gradients).fold(Evaluation::new(loss), |e, (name, g)| e.with_gradient(name, g))
}
