//! Index helpers for the rows of a comparison.

use std::ops::Range;

use burn::tensor::{IndexingUpdateOp, Tensor};
use simile_kernels::EMPTY;

use crate::numeric::matrix::indices;

/// Removes one candidate of each anchor from a tile of logits.
pub(crate) fn leave_out(logits: Tensor<2>, candidates: &[usize], rows: &Range<usize>) -> Tensor<2> {
    let at = indices(&candidates[rows.clone()], &logits.device()).unsqueeze_dim(1);
    let empty = Tensor::full([rows.len(), 1], EMPTY, (&logits.device(), logits.dtype()));
    logits.scatter(1, at, empty, IndexingUpdateOp::Add)
}

/// Rows `range` of a tensor; the full range returns the tensor itself. With fusion (Burn 0.22.1, wgpu) a slice of
/// all rows shares the buffer without being marked as shared, and an in-place operation on it would change the
/// tensor.
pub(crate) fn rows_of<const D: usize>(tensor: &Tensor<D>, range: Range<usize>) -> Tensor<D> {
    if range == (0..tensor.dims()[0]) { tensor.clone() } else { tensor.clone().slice(range) }
}

/// The index of each sample's other view among `2 b` rows, views stacked: `i <-> i + b`.
pub fn other_view(b: usize) -> Vec<usize> {
    (b..2 * b).chain(0..b).collect()
}

/// Each row's own index.
pub fn itself(n: usize) -> Vec<usize> {
    (0..n).collect()
}
