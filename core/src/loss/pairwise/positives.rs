//! The positives of an anchor, and the means over them.
//!
//! If the weights have a structure (one partner, one group), a mean is an inner product of the anchor with a
//! precomputed row: `n d` work and no tile of weights.

use std::ops::Range;

use burn::tensor::{DType, Device, IndexingUpdateOp, Tensor};
use simile_kernels::{gemm, tile_rows};

use super::farther::RowsByGroup;
use super::means::{MeanInputs, WeightedSums};
use super::reductions::LogSumExpHandle;
use super::rows::rows_of;
use crate::error::{Error, Result};
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::matrix::{Matrix, indices};

/// Weights of a range of samples, `[range, samples]`.
pub type SampleWeights<'a> = Box<dyn Fn(Range<usize>) -> Tensor<2> + Send + Sync + 'a>;

/// The positives of an anchor, as rows of constant weights `P`.
#[allow(clippy::large_enum_variant, reason = "a comparison holds two or three of these")]
pub enum Positives<'a> {
    /// Candidate `partner[i]`, weight one.
    Partner(Vec<usize>),
    /// The mean over the candidates of the anchor's group without the excluded ones. Anchors and candidates
    /// are the same rows. An anchor without such a candidate has weight 0.
    Group {
        /// Groups of equal label.
        group: LabelGroups,
        /// The rows of the group that are no positives of each other, as a finer partition: each row alone, or the rows of equal
        /// label and bias.
        excluded: LabelGroups,
    },
    /// Row `i` of a tensor `[anchors, d]` that is not a candidate, weight one; it receives no gradient, see
    /// [`PairwiseResult::grad_mean`](super::PairwiseResult::grad_mean).
    Rows(Tensor<2>),
    /// Weights of the pairs of samples, the same for all views of either. Anchors and candidates are the same rows,
    /// with the samples of one view after those of another.
    Samples {
        /// Number of samples.
        count: usize,
        /// Weights of a range of samples, `[range, samples]`, taken as constants.
        weights: SampleWeights<'a>,
    },
    /// The candidates of [`Group`](Self::Group) that are farther from the anchor than one of its log-sum-exps (their scaled cosine
    /// is below it), each with its weight in the mean over the whole group. The weights depend on the rows, but are taken as
    /// constants.
    Farther {
        /// Groups of equal label.
        group: LabelGroups,
        /// The rows of the group that are no positives of each other, as a finer partition.
        excluded: LabelGroups,
        /// The log-sum-exp.
        than: LogSumExpHandle,
    },
}

impl Positives<'_> {
    /// Checks that they are those of anchors `[n, width]` among `m` candidates, beside a number of log-sum-exps.
    pub(super) fn check(&self, ([n, width], m): ([usize; 2], usize), log_sum_exps: usize) -> Result<()> {
        let (found, expected) = match self {
            Self::Partner(partner) if partner.len() != n => {
                (format!("{} partners", partner.len()), format!("one for each of {n} anchors"))
            }
            Self::Partner(partner) => match partner.iter().find(|&&at| at >= m) {
                None => return Ok(()),
                Some(at) => (format!("the partner {at}"), format!("the index of one of {m} candidates")),
            },
            Self::Rows(rows) if rows.dims() == [n, width] => return Ok(()),
            Self::Rows(rows) => (format!("rows of shape {:?}", rows.dims()), format!("{:?}", [n, width])),
            Self::Samples { count, .. } if n == m && n.is_multiple_of(*count) => return Ok(()),
            Self::Samples { count, .. } => (
                format!("weights of {count} samples for {n} anchors and {m} candidates"),
                "views of all samples, the same rows as anchors and as candidates".into(),
            ),
            Self::Group { group, excluded } | Self::Farther { group, excluded, .. }
                if [group.rows(), excluded.rows(), m] != [n; 3] =>
            {
                let (group, excluded) = (group.rows(), excluded.rows());
                (
                    format!(
                        "groups of {group} rows without those of {excluded}, for {n} anchors and {m} candidates"
                    ),
                    "the same rows in all of them".into(),
                )
            }
            Self::Farther { than, .. } if than.0 >= log_sum_exps => {
                (format!("the log-sum-exp {}", than.0), format!("the index of one of {log_sum_exps}"))
            }
            Self::Group { .. } | Self::Farther { .. } => return Ok(()),
        };
        Err(Error::shape("positives", expected, found))
    }

    /// The weighted sums from which the means of the anchors are computed.
    pub(super) fn weighted_sums(&self, inputs: &MeanInputs<'_>) -> WeightedSums {
        let candidates = inputs.candidates;
        let (device, dtype) = (candidates.device(), candidates.dtype());
        let [n, _] = inputs.scaled.dims();
        let of = |rows: Tensor<2>, mass: Option<Tensor<1>>| WeightedSums {
            rows,
            mass,
            share: None,
            weights: Vec::new(),
        };
        match self {
            Self::Partner(partner) if is_itself(partner, candidates) => of(candidates.clone(), None),
            Self::Partner(partner) => of(candidates.clone().select(0, indices(partner, &device)), None),
            Self::Rows(rows) => of(rows.clone(), None),
            Self::Group { group, excluded } => {
                let (share, mass) = shares(group, excluded, &device, dtype);
                let rows = positive_sums(group, excluded, candidates.clone()) * share.clone();
                WeightedSums { share: Some(share), ..of(rows, Some(mass.squeeze_dim(1))) }
            }
            Self::Samples { count, weights } => {
                let (views, sample_sums) = (n / count, over_views(candidates.clone(), *count));
                let tiles = ranges(*count).map(|range| {
                    let weights = weights(range);
                    let mass = weights.clone().sum_dim(1) * views as f64;
                    (gemm(weights, sample_sums.clone()), mass)
                });
                let (rows, mass): (Vec<Tensor<2>>, Vec<Tensor<2>>) = tiles.unzip();
                let for_views = |parts: Vec<Tensor<2>>| Tensor::cat(parts, 0).repeat_dim(0, views);
                of(for_views(rows), Some(for_views(mass).squeeze_dim(1)))
            }
            Self::Farther { group, excluded, than } => {
                RowsByGroup::new(inputs, group, excluded, *than).weighted_sums()
            }
        }
    }

    /// `sum_i P_ij g_i`, `[candidates, d]`; `None` if the candidates get no gradient.
    pub(super) fn pull_back(
        &self,
        gradient: Tensor<2>,
        sums: &WeightedSums,
        inputs: &MeanInputs<'_>,
    ) -> Option<Tensor<2>> {
        let candidates = inputs.candidates;
        match self {
            Self::Partner(partner) if is_itself(partner, candidates) => Some(gradient),
            Self::Partner(partner) => {
                let at = indices(partner, &candidates.device());
                Some(candidates.zeros_like().select_assign(0, at, gradient, IndexingUpdateOp::Add))
            }
            Self::Group { group, excluded } => {
                // `weighted_sums` has stored it for a group.
                let share = sums.share.clone();
                share.map(|share| positive_sums(group, excluded, gradient * share))
            }
            Self::Samples { count, weights } => {
                let views = candidates.dims()[0] / count;
                let gradient = over_views(gradient, *count);
                let tiles = ranges(*count)
                    .map(|range| gemm(weights(range.clone()).transpose(), rows_of(&gradient, range)));
                tiles.reduce(|sum, tile| sum + tile).map(|sum| sum.repeat_dim(0, views))
            }
            Self::Rows(_) => None,
            Self::Farther { group, excluded, than } => {
                Some(RowsByGroup::new(inputs, group, excluded, *than).pull_back(gradient, sums))
            }
        }
    }
}

/// True if each anchor's partner is the candidate of its own index, so that nothing has to be gathered.
fn is_itself(partner: &[usize], candidates: &Tensor<2>) -> bool {
    partner.iter().copied().eq(0..candidates.dims()[0])
}

/// The sum of each sample's rows over the views, `[samples, d]`.
fn over_views(rows: Tensor<2>, samples: usize) -> Tensor<2> {
    let [n, width] = rows.dims();
    rows.reshape([n / samples, samples, width]).sum_dim(0).squeeze_dim(0)
}

/// Ranges of samples, each as large as suits their number.
fn ranges(samples: usize) -> impl Iterator<Item = Range<usize>> {
    let size = tile_rows(None, samples, samples);
    (0..samples).step_by(size).map(move |start| start..(start + size).min(samples))
}

/// `1 / |P(i)|` of each row, 0 if it has no positive, and the mass, 1 if it has one; both `[rows, 1]`.
fn shares(
    group: &LabelGroups,
    excluded: &LabelGroups,
    device: &Device,
    dtype: DType,
) -> (Tensor<2>, Tensor<2>) {
    let counts: Vec<usize> =
        (0..group.rows()).map(|i| group.size_of(i).saturating_sub(excluded.size_of(i))).collect();
    let column = |value: fn(usize) -> f64| {
        let values: Vec<f64> =
            counts.iter().map(|&count| if count == 0 { 0.0 } else { value(count) }).collect();
        Matrix::column(&values).to_tensor(device, dtype)
    };
    (column(|count| 1.0 / count as f64), column(|_| 1.0))
}

/// For each row the sum over its group without the excluded rows.
fn positive_sums(group: &LabelGroups, excluded: &LabelGroups, rows: Tensor<2>) -> Tensor<2> {
    group.sums(rows.clone()) - excluded.sums(rows)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{LogSumExp, PairwiseLoss, itself};
    use super::*;

    /// The reason for which positives of four anchors are refused; none if they fit.
    fn refusal(candidates: usize, positives: Positives<'_>) -> Option<String> {
        let mut pairs = PairwiseLoss::new(rows(4, 2), rows(candidates, 2), 0.5, None).unwrap();
        let mean = pairs.add_mean(positives);
        let all = pairs.add_log_sum_exp(LogSumExp::all());
        let loss = pairs.evaluate(|reductions| reductions.log_sum_exp(all) - reductions.mean(mean));
        loss.err().map(|error| error.to_string())
    }

    fn rows(count: usize, width: usize) -> Tensor<2> {
        Tensor::ones([count, width], &Device::flex())
    }

    fn samples(count: usize) -> Positives<'static> {
        Positives::Samples { count, weights: Box::new(move |range| rows(range.len(), count)) }
    }

    /// The groups of rows, two and two, and each row alone.
    fn partitions(count: usize) -> [LabelGroups; 2] {
        [2, 1].map(|size| LabelGroups::new((0..count).map(|i| i / size), &Device::flex()))
    }

    fn group(count: usize) -> Positives<'static> {
        let [group, excluded] = partitions(count);
        Positives::Group { group, excluded }
    }

    fn farther(count: usize, than: usize) -> Positives<'static> {
        let [group, excluded] = partitions(count);
        Positives::Farther { group, excluded, than: LogSumExpHandle(than) }
    }

    #[test]
    fn positives_that_fit_are_taken() {
        for (candidates, positives) in [
            (4, Positives::Partner(itself(4))),
            (6, Positives::Partner(vec![5, 0, 0, 3])),
            (6, Positives::Rows(rows(4, 2))),
            (4, samples(4)),
            (4, samples(2)),
            (4, group(4)),
            (4, farther(4, 0)),
        ] {
            assert_eq!(refusal(candidates, positives), None);
        }
    }

    #[test]
    fn positives_that_do_not_fit_are_an_error() {
        for (candidates, positives, reason) in [
            (4, Positives::Partner(itself(3)), "3 partners, expected one for each of 4 anchors"),
            (5, Positives::Partner(itself(5)), "5 partners"),
            (3, Positives::Partner(itself(4)), "the partner 3, expected the index of one of 3 candidates"),
            (4, Positives::Rows(rows(3, 2)), "rows of shape [3, 2], expected [4, 2]"),
            (4, Positives::Rows(rows(4, 1)), "rows of shape [4, 1]"),
            (4, samples(0), "weights of 0 samples"),
            (4, samples(3), "weights of 3 samples"),
            (6, samples(2), "for 4 anchors and 6 candidates"),
            (4, group(3), "groups of 3 rows"),
            (5, group(4), "for 4 anchors and 5 candidates, expected the same rows"),
            (4, farther(5, 0), "groups of 5 rows"),
            (4, farther(4, 1), "the log-sum-exp 1, expected the index of one of 1"),
        ] {
            let error = refusal(candidates, positives).unwrap();
            assert!(error.starts_with("`positives` has ") && error.contains(reason), "{error}");
        }
    }
}
