//! Rows that share a label: their sums, and masks of their pairs.
//!
//! Supervised objectives compare rows by an integer label. They need either a linear function of the rows (the sum
//! of all rows of a label, `n d` work) or a mask over pairs, which is computed one tile at a time, so that no `n x
//! n` matrix exists.

use std::collections::BTreeMap;
use std::ops::Range;

use burn::backend::Dispatch;
use burn::tensor::{Bool, Device, IndexingUpdateOp, Int, Tensor};
use simile_kernels::PairWeights;

use crate::numeric::matrix::indices;

/// The partition of rows into groups of equal label.
#[derive(Debug, Clone)]
pub struct LabelGroups {
    /// Group of each row, from 0 without gaps.
    by_row: Vec<usize>,
    sizes: Vec<usize>,
    on_device: Tensor<1, Int>,
}

impl LabelGroups {
    /// Groups rows of equal `labels`, which can be of any ordered type: an integer, or a pair of integers.
    pub fn new<T: Ord>(labels: impl IntoIterator<Item = T>, device: &Device) -> Self {
        let mut groups_by_label = BTreeMap::new();
        let by_row: Vec<usize> = (labels.into_iter())
            .map(|label| {
                let next = groups_by_label.len();
                *groups_by_label.entry(label).or_insert(next)
            })
            .collect();
        let mut sizes = vec![0; groups_by_label.len()];
        for &group in &by_row {
            sizes[group] += 1;
        }
        let on_device = indices(&by_row, device);
        Self { by_row, sizes, on_device }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.by_row.len()
    }

    /// The groups as weights, for log-sum-exps over the rows of the same group or of others.
    pub fn pair_weights(&self) -> PairWeights<Dispatch> {
        PairWeights::groups(self.on_device.clone())
    }

    /// Number of rows in the group of row `i`, including itself; 0 if there is no such row.
    pub fn size_of(&self, i: usize) -> usize {
        self.by_row.get(i).map_or(0, |&group| self.sizes[group])
    }

    /// The rows, group after group.
    pub fn by_group(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        rows.sort_by_key(|&i| self.by_row[i]);
        rows
    }

    /// The group of each row, from 0 without gaps.
    pub fn on_device(&self) -> Tensor<1, Int> {
        self.on_device.clone()
    }

    /// For each row the sum of `values` over the rows of its group, `[rows, d]`.
    pub fn sums(&self, values: Tensor<2>) -> Tensor<2> {
        let [_, width] = values.dims();
        let by_group = Tensor::zeros([self.sizes.len(), width], (&values.device(), values.dtype()));
        by_group
            .select_assign(0, self.on_device.clone(), values, IndexingUpdateOp::Add)
            .select(0, self.on_device.clone())
    }

    /// True where a row of `range` and any row are of one group, `[range, rows]`.
    pub fn same(&self, range: Range<usize>) -> Tensor<2, Bool> {
        let shape = [range.len(), self.rows()];
        let own: Tensor<2, Int> = self.on_device.clone().slice(range).unsqueeze_dim(1);
        let other: Tensor<2, Int> = self.on_device.clone().unsqueeze_dim(0);
        own.expand(shape).equal(other.expand(shape))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::DType;

    use super::*;
    use crate::numeric::matrix::Matrix;

    #[test]
    fn rows_of_a_group_share_their_sum() {
        let device = Device::flex();
        let groups = LabelGroups::new([(7, 1), (3, 1), (7, 1), (7, 0)], &device);
        let values = Matrix::from_fn(4, 2, |i, j| (10 * i + j) as f64).to_tensor(&device, DType::F64);
        let sums = Matrix::from_data(&groups.sums(values).into_data()).unwrap();
        assert_eq!(sums.data(), [20.0, 22.0, 10.0, 11.0, 20.0, 22.0, 30.0, 31.0]);
        assert_eq!([0, 1, 4].map(|i| groups.size_of(i)), [2, 1, 0]);
        assert_eq!(groups.by_group(), [0, 2, 1, 3]);
        let same: Vec<bool> = groups.same(2..4).into_data().iter::<bool>().collect();
        assert_eq!(same, [true, false, true, false, false, false, false, true]);
    }
}
