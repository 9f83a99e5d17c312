//! Two views of a batch, side by side or stacked into one set of anchors.

use burn::tensor::Tensor;

use super::Evaluation;
use crate::batch::Batch;
use crate::contrast::Contrasted;
use crate::error::{Error, Result};
use crate::similarity::UnitRows;

/// Unit rows of `view_a` and `view_b`.
#[derive(Debug, Clone)]
pub(crate) struct TwoViews {
    pub(crate) a: UnitRows,
    pub(crate) b: UnitRows,
    /// Samples in the batch.
    pub(crate) size: usize,
}

impl TwoViews {
    /// Reads both views of a batch.
    pub(crate) fn of(batch: &Batch, objective: &str) -> Result<Self> {
        let a = batch.unit_rows(objective, "view_a")?;
        let b = batch.unit_rows(objective, "view_b")?;
        let ([size, width], [rows, columns]) = (a.rows().dims(), b.rows().dims());
        if (size, width) != (rows, columns) {
            return Err(Error::shape("view_b", format!("{size}x{width}"), format!("{rows}x{columns}")));
        }
        if size == 0 || width == 0 {
            return Err(Error::shape("view_a", "at least one row and one column", format!("{size}x{width}")));
        }
        Ok(Self { a, b, size })
    }

    /// Both views as one set of `2 b` rows, view a first.
    pub(crate) fn stacked(&self) -> Tensor<2> {
        Tensor::cat(vec![self.a.rows(), self.b.rows()], 0)
    }

    /// The evaluation of `scale` times the sum over `2 b` stacked anchors that were compared with themselves.
    pub(crate) fn of_stacked(&self, contrasted: Contrasted, scale: f64) -> Evaluation {
        let loss = contrasted.per_anchor.sum() * scale;
        let gradient = (contrasted.anchors + contrasted.candidates) * scale;
        self.with_stacked_gradient(loss, gradient)
    }

    /// The evaluation of a loss whose gradient with respect to the stacked unit rows is given.
    pub(crate) fn with_stacked_gradient(&self, loss: Tensor<1>, gradient: Tensor<2>) -> Evaluation {
        let to_a = gradient.clone().slice(0..self.size);
        let to_b = gradient.slice(self.size..2 * self.size);
        self.with_gradients(loss, to_a, to_b)
    }

    /// The evaluation of a loss whose gradients with respect to the unit rows of each view are given.
    pub(crate) fn with_gradients(&self, loss: Tensor<1>, to_a: Tensor<2>, to_b: Tensor<2>) -> Evaluation {
        Evaluation::new(loss)
            .with_gradient("view_a", self.a.pull_back(to_a))
            .with_gradient("view_b", self.b.pull_back(to_b))
    }
}
