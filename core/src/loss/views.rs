//! The views of a batch: two, side by side or stacked into one set of anchors, or any number with their
//! centroids.

use burn::tensor::Tensor;

use super::objective::{Aux, Evaluation};
use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::pairwise::{PairwiseLoss, PairwiseResult};
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::unit_rows::UnitRows;

/// The direction of a comparison across views: anchors of one, candidates of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    AToB,
    BToA,
}

/// Unit rows of `view_a` and `view_b`.
#[derive(Debug, Clone)]
pub(crate) struct TwoViews {
    pub(crate) a: UnitRows,
    pub(crate) b: UnitRows,
    /// Number of samples in the batch.
    pub(crate) size: usize,
    names: [&'static str; 2],
}

impl TwoViews {
    /// Reads `view_a` and `view_b` of a batch.
    pub(crate) fn of(batch: &Batch, objective: &str) -> Result<Self> {
        Self::named(batch, objective, ["view_a", "view_b"])
    }

    /// Reads two inputs of a batch as its views.
    pub(crate) fn named(batch: &Batch, objective: &str, names: [&'static str; 2]) -> Result<Self> {
        let a = batch.unit_rows(objective, names[0])?;
        let b = batch.unit_rows(objective, names[1])?;
        let [size, width] = a.rows().dims();
        check_size(names[1], &b, [size, width])?;
        Ok(Self { a, b, size, names })
    }

    /// Checks that the views have as many samples as another pair of views.
    pub(crate) fn check_samples(&self, expected: usize) -> Result<()> {
        check_size(self.names[0], &self.a, [expected, self.a.rows().dims()[1]])
    }

    /// Checks that the views have the shape of another pair of views.
    pub(crate) fn check_like(&self, other: &Self) -> Result<()> {
        check_size(self.names[0], &self.a, other.a.rows().dims())
    }

    /// Both views as one set of `2 b` rows, view a first.
    pub(crate) fn stacked(&self) -> Tensor<2> {
        Tensor::cat(vec![self.a.rows(), self.b.rows()], 0)
    }

    /// The stacked rows compared with themselves, in the tiles of the batch and shared by its processes.
    ///
    /// # Errors
    /// As [`PairwiseLoss::within`].
    pub(crate) fn compare_stacked<'p>(&self, batch: &Batch, temperature: f64) -> Result<PairwiseLoss<'p>> {
        Ok(PairwiseLoss::within(self.stacked(), temperature, batch.tile())?.with_peers(batch.peers()))
    }

    /// The rows of one view compared with those of the other, in the tiles of the batch and shared by its processes.
    ///
    /// # Errors
    /// As [`PairwiseLoss::new`].
    pub(crate) fn compare_across<'p>(
        &self,
        batch: &Batch,
        temperature: f64,
        direction: Direction,
    ) -> Result<PairwiseLoss<'p>> {
        let (a, b) = (self.a.rows(), self.b.rows());
        let (anchors, candidates) = match direction {
            Direction::AToB => (a, b),
            Direction::BToA => (b, a),
        };
        Ok(PairwiseLoss::new(anchors, candidates, temperature, batch.tile())?.with_peers(batch.peers()))
    }

    /// The mean over the `b` anchors of view a, or with `symmetric` the average of both directions; `evaluate` computes the anchors'
    /// losses. If details are requested, `loss_reverse` is the direction b to a and `loss_symmetric` the average.
    pub(crate) fn directed(
        &self,
        batch: &Batch,
        symmetric: bool,
        evaluate: impl Fn(Direction) -> Result<PairwiseResult>,
    ) -> Result<Evaluation> {
        let mean = 1.0 / self.size as f64;
        let forward = evaluate(Direction::AToB)?;
        let loss = forward.per_anchor.clone().sum() * mean;
        let average = |loss_reverse: &Tensor<1>| (loss.clone() + loss_reverse.clone()) / 2.0;
        let (evaluation, reverse) = if symmetric {
            let reverse = evaluate(Direction::BToA)?;
            let loss_reverse = reverse.per_anchor.sum() * mean;
            let half = mean / 2.0;
            let grad_a = (forward.grad_anchors + reverse.grad_candidates) * half;
            let grad_b = (forward.grad_candidates + reverse.grad_anchors) * half;
            (self.with_gradients(average(&loss_reverse), grad_a, grad_b), Some(loss_reverse))
        } else {
            let (grad_a, grad_b) = (forward.grad_anchors * mean, forward.grad_candidates * mean);
            (self.with_gradients(loss.clone(), grad_a, grad_b), None)
        };
        evaluation.with_details(batch, |evaluation| {
            let loss_reverse = match reverse {
                Some(loss) => loss,
                None => evaluate(Direction::BToA)?.per_anchor.sum() * mean,
            };
            let loss_symmetric = average(&loss_reverse);
            Ok(evaluation
                .with_aux("per_anchor", Aux::Vector(forward.per_anchor))
                .with_aux("loss_reverse", Aux::Scalar(loss_reverse))
                .with_aux("loss_symmetric", Aux::Scalar(loss_symmetric)))
        })
    }

    /// The contribution of each row's own pair to the mean loss, `-1/b sum_i cos(a_i, b_i) / temperature`.
    pub(crate) fn own_pairs(&self, temperature: f64) -> Tensor<1> {
        (self.a.rows() * self.b.rows()).sum() * (-1.0 / (self.size as f64 * temperature))
    }

    /// The evaluation of the mean over `2 b` stacked anchors that are compared with themselves.
    pub(crate) fn mean_over_anchors(&self, result: PairwiseResult) -> Evaluation {
        self.stacked_loss(result, 1.0 / (2 * self.size) as f64)
    }

    /// The evaluation of `scale` times the sum over `2 b` stacked anchors that are compared with themselves.
    pub(crate) fn stacked_loss(&self, result: PairwiseResult, scale: f64) -> Evaluation {
        let loss = result.per_anchor.sum() * scale;
        let gradient = (result.grad_anchors + result.grad_candidates) * scale;
        self.with_stacked_gradient(loss, gradient)
    }

    /// The evaluation of a loss from its gradient with respect to the stacked unit rows.
    pub(crate) fn with_stacked_gradient(&self, loss: Tensor<1>, gradient: Tensor<2>) -> Evaluation {
        let grad_a = gradient.clone().slice(0..self.size);
        let grad_b = gradient.slice(self.size..2 * self.size);
        self.with_gradients(loss, grad_a, grad_b)
    }

    /// The evaluation of a loss from its gradients with respect to the unit rows of each view.
    pub(crate) fn with_gradients(&self, loss: Tensor<1>, grad_a: Tensor<2>, grad_b: Tensor<2>) -> Evaluation {
        Evaluation::new(loss)
            .with_gradient(self.names[0], self.a.pull_back(grad_a))
            .with_gradient(self.names[1], self.b.pull_back(grad_b))
    }

    /// Groups of the stacked rows: the labels of the samples, once for each view.
    pub(crate) fn groups<T: Ord + Clone>(&self, labels: impl Iterator<Item = T> + Clone) -> LabelGroups {
        LabelGroups::new(labels.clone().chain(labels), &self.a.rows().device())
    }

    /// One group for each stacked row.
    pub(crate) fn each_row(&self) -> LabelGroups {
        LabelGroups::new(0..2 * self.size, &self.a.rows().device())
    }
}

/// Any number of views of the same samples: `view_a`, `view_b`, and `view_c`, ... if present.
pub(crate) struct ManyViews {
    /// Names and unit rows, at least two.
    pub(crate) views: Vec<(String, UnitRows)>,
    /// Number of samples in the batch.
    pub(crate) size: usize,
}

impl ManyViews {
    /// Reads all views of a batch.
    pub(crate) fn of(batch: &Batch, objective: &str) -> Result<Self> {
        let TwoViews { a, b, size, .. } = TwoViews::of(batch, objective)?;
        let shape = a.rows().dims();
        let mut views = vec![("view_a".to_owned(), a), ("view_b".to_owned(), b)];
        let further: Vec<String> = ('c'..='z').map(|letter| format!("view_{letter}")).collect();
        let count = further.iter().rposition(|name| batch.is_given(name)).map_or(0, |last| last + 1);
        for name in further.into_iter().take(count) {
            let view = batch.unit_rows(objective, &name)?;
            check_size(&name, &view, shape)?;
            views.push((name, view));
        }
        Ok(Self { views, size })
    }

    /// The mean of a sample's views, `[b, d]`; not normalised.
    pub(crate) fn centroids(&self) -> Tensor<2> {
        let views: Vec<Tensor<3>> = self.views.iter().map(|(_, view)| view.rows().unsqueeze_dim(0)).collect();
        Tensor::cat(views, 0).mean_dim(0).squeeze_dim(0)
    }

    /// The evaluation of a loss from its gradient with respect to the centroids.
    pub(crate) fn centroid_loss(&self, loss: Tensor<1>, gradient: Tensor<2>) -> Evaluation {
        let share = gradient / self.views.len() as f64;
        let pulled = |view: &UnitRows| view.pull_back(share.clone());
        (self.views.iter()).fold(Evaluation::new(loss), |e, (name, view)| e.with_gradient(name, pulled(view)))
    }
}

fn check_size(name: &str, view: &UnitRows, [rows, columns]: [usize; 2]) -> Result<()> {
    let [found_rows, found_columns] = view.rows().dims();
    if [found_rows, found_columns] == [rows, columns] {
        Ok(())
    } else {
        Err(Error::shape(name, format!("{rows}x{columns}"), format!("{found_rows}x{found_columns}")))
    }
}
