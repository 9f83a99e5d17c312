//! The rows that ConTeX compares, and the terms that both of its forms have.

use burn::tensor::Tensor;

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation};
use crate::loss::pairwise::{
    LogSumExp, LogSumExpHandle, MeanHandle, PairwiseLoss, Positives, Reductions, log_add, other_view,
    where_present,
};
use crate::loss::spec::{BIAS, CLASSES, Input, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;
use crate::numeric::label_groups::LabelGroups;

/// The inputs of both.
pub(super) const INPUTS: &[Input] = &[
    VIEW_A,
    VIEW_B,
    CLASSES,
    BIAS.optional().meaning("the bias attribute of each sample; positives are then of another one"),
];

/// The positives and negatives of each anchor.
pub(super) struct Labels {
    /// Stacked rows by label.
    pub(super) label: LabelGroups,
    /// The rows of the anchor's label that are no positives: the anchor, or all rows of its bias.
    pub(super) excluded: LabelGroups,
}

impl Labels {
    /// Reads `labels`, and `bias` if given.
    pub(super) fn of(batch: &Batch, objective: &str, views: &TwoViews) -> Result<Self> {
        let labels = batch.groups(objective, "labels", views.size)?;
        let excluded = match batch.optional_groups(objective, "bias", views.size)? {
            None => views.each_row(),
            Some(bias) => views.groups(labels.iter().zip(bias)),
        };
        Ok(Self { label: views.groups(labels.iter()), excluded })
    }

    /// Adds the numbers of anchors without positives and without negatives.
    pub(super) fn with_anchor_counts(&self, evaluation: Evaluation) -> Evaluation {
        let rows = self.label.rows();
        let count = |is_without: &dyn Fn(&usize) -> bool| (0..rows).filter(is_without).count() as f64;
        let positive = count(&|&i| self.label.size_of(i) == self.excluded.size_of(i));
        let negative = count(&|&i| self.label.size_of(i) == rows);
        evaluation
            .with_aux("anchors_without_positive", Aux::Number(positive))
            .with_aux("anchors_without_negative", Aux::Number(negative))
    }
}

/// The reductions of both terms.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// The positives of `L_a`.
    pub(super) positives: MeanHandle,
    /// The rows of another label.
    pub(super) other_classes: LogSumExpHandle,
    /// The other view.
    pub(super) own: MeanHandle,
    /// The rows of other samples.
    pub(super) other_samples: LogSumExpHandle,
}

impl Terms {
    /// Adds the reductions to a comparison of the stacked rows of `size` samples. `positives` gives those of `L_a` from the rows of the
    /// label, the rows that are excluded, and the log-sum-exp over the other classes.
    pub(super) fn of<'a>(
        pairs: &mut PairwiseLoss<'a>,
        labels: &Labels,
        size: usize,
        positives: impl FnOnce(LabelGroups, LabelGroups, LogSumExpHandle) -> Positives<'a>,
    ) -> Self {
        let other_classes = pairs.add_log_sum_exp(LogSumExp::other_label());
        Self {
            positives: pairs.add_mean(positives(
                labels.label.clone(),
                labels.excluded.clone(),
                other_classes,
            )),
            other_classes,
            own: pairs.add_mean(Positives::Partner(other_view(size))),
            other_samples: pairs.add_log_sum_exp(LogSumExp::other_samples(size)),
        }
    }

    /// `L_a`; 0 without a positive or a negative.
    pub(super) fn l_a(self, reductions: &Reductions) -> Tensor<1> {
        let negatives = reductions.log_sum_exp(self.other_classes);
        where_present(reductions.negative_log_probability(self.positives, negatives.clone()), &negatives)
    }

    /// `L_b` as released, that of NT-Xent.
    pub(super) fn l_b_of_nt_xent(self, reductions: &Reductions) -> Tensor<1> {
        let own = reductions.mean(self.own);
        log_add(reductions.log_sum_exp(self.other_samples), own.clone()) - own
    }
}
