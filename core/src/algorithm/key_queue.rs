//! The queue of keys of momentum contrast, in which SwAV keeps its embeddings too.

use burn::tensor::{IndexingUpdateOp, Tensor};

use crate::error::{Error, Result};
use crate::numeric::matrix::indices;
use crate::numeric::unit_rows::UnitRows;

/// The keys of the latest samples; new keys overwrite the oldest.
#[derive(Debug, Clone)]
pub struct KeyQueue {
    rows: Tensor<2>,
    next: usize,
}

impl KeyQueue {
    /// A queue of rows `[K, d]`, drawn at random before training, which are normalised here.
    ///
    /// # Errors
    /// There is no row.
    pub fn new(rows: Tensor<2>) -> Result<Self> {
        match rows.dims() {
            [0, _] => Err(Error::shape("queue", "at least one row", "none")),
            _ => Ok(Self { rows: UnitRows::normalise(rows).rows(), next: 0 }),
        }
    }

    /// The keys, `[K, d]`, as the input `queue`.
    pub fn rows(&self) -> Tensor<2> {
        self.rows.clone()
    }

    /// Index of the oldest key, the next to be overwritten.
    pub fn oldest(&self) -> usize {
        self.next
    }

    /// A queue of this size with other rows, not normalised; `oldest` is the first to be overwritten.
    pub(super) fn replaced(&self, rows: Tensor<2>, oldest: usize) -> Self {
        Self { rows, next: oldest % self.rows.dims()[0] }
    }

    /// Overwrites the oldest rows by the keys of a batch, `[b, d]`, which are normalised. Of more than `K`
    /// keys the last `K` stay.
    ///
    /// # Errors
    /// The keys are of another width.
    pub fn push(&mut self, keys: Tensor<2>) -> Result<()> {
        let ([size, width], [b, columns]) = (self.rows.dims(), keys.dims());
        if width != columns {
            return Err(Error::shape("view_b", format!("{width} columns"), format!("{columns} columns")));
        }
        let key_count = b.min(size);
        let keys = UnitRows::normalise(keys.without_autodiff()).rows().slice(b - key_count..b);
        let slots: Vec<usize> = (0..key_count).map(|i| (self.next + i) % size).collect();
        let at = indices(&slots, &keys.device());
        let change = keys - self.rows.clone().select(0, at.clone());
        self.rows = self.rows.clone().select_assign(0, at, change, IndexingUpdateOp::Add);
        self.next = (self.next + key_count) % size;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, read};
    use crate::numeric::matrix::Matrix;

    #[test]
    fn the_oldest_keys_make_room() {
        let axis = |i: usize| Matrix::from_fn(1, 3, |_, j| if i == j { 2.0 } else { 0.0 });
        let mut queue = KeyQueue::new(place(&Matrix::from_fn(3, 3, |_, _| 1.0))).unwrap();
        queue.push(Tensor::cat(vec![place(&axis(0)), place(&axis(1))], 0)).unwrap();
        queue.push(Tensor::cat(vec![place(&axis(2)), place(&axis(2))], 0)).unwrap();
        let rows = read(queue.rows());
        let nearest: Vec<usize> =
            rows.iter_rows().map(|row| row.iter().position(|&v| v > 0.99).unwrap()).collect();
        assert_eq!(nearest, [2, 1, 2]);
        assert!(queue.push(place(&Matrix::zeros(1, 2))).is_err());
    }
}
