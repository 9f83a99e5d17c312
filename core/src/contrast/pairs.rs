//! Weights of pairs that do not depend on who is the anchor.

use std::ops::Range;

use pulp::Arch;

use super::{LogSumExp, itself, other_view};
use crate::conditional::{DeviceOperator, HostOperator};
use crate::group::Groups;
use simile_kernels::cpu::parallel;

/// Rows of weights in one round of a loop.
const PART: usize = 64;

/// Symmetric weights of the pairs of samples. The anchor's view says which, that of the other sample does not matter; a
/// sample's pairs with itself have weight 0.
pub struct PairWeights<'a> {
    /// The weights of each view's anchors, as they come, or one for all views.
    pub operators: Vec<&'a DeviceOperator>,
    /// Weights at or below this count as 0.
    pub threshold: f64,
    /// What each row is divided by.
    pub divisor: Divisor,
}

/// What a row of [`PairWeights`] is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// Nothing.
    One,
    /// The sum of the weights of one view.
    Sum,
    /// The same with the sample itself, if it has any other.
    SumWithOwn,
}

/// A term of a comparison of rows with themselves: `log sum_j W_ij exp(power * s_ij)` over other rows.
pub(super) struct Term<'c, 'a> {
    pub(super) power: f32,
    /// Whether the other views of a row's sample are left out too.
    pub(super) without_own_sample: bool,
    rows: usize,
    weights: Weights<'c, 'a>,
}

enum Weights<'c, 'a> {
    /// All are 1.
    Ones,
    /// 1 for the rows of another group, 0 for those of the same.
    Unlike(&'c Groups),
    /// Those of pairs of samples, by operator.
    Pairs(&'c PairWeights<'a>, Vec<HostOperator>),
}

impl<'c, 'a> Term<'c, 'a> {
    /// The term of `rows` rows, if it is one of these and its weights lie in the host's memory.
    pub(super) fn of(term: &'c LogSumExp<'a>, rows: usize) -> Option<Self> {
        let own_sample = [itself(rows), other_view(rows / 2)];
        let (without_own_sample, weights) = match (&term.pairs, term.unlike, term.excluded.as_slice()) {
            (Some(pairs), None, []) => {
                let operators = pairs.operators.iter().map(|operator| operator.on_host());
                (false, Weights::Pairs(pairs, operators.collect::<Option<_>>()?))
            }
            (None, _, _) if term.log_weights.is_some() => return None,
            (None, Some(groups), []) => (false, Weights::Unlike(groups)),
            (None, None, [own]) if *own == own_sample[0] => (false, Weights::Ones),
            (None, None, excluded) if excluded == own_sample => (true, Weights::Ones),
            _ => return None,
        };
        Some(Self { power: term.power as f32, without_own_sample, rows, weights })
    }

    /// Number of samples, if the term says so.
    pub(super) fn samples(&self) -> Option<usize> {
        match &self.weights {
            Weights::Pairs(_, operators) => operators.first().map(HostOperator::rows),
            _ if self.without_own_sample => Some(self.rows / 2),
            _ => None,
        }
    }

    /// Whether the term is one of so many samples.
    pub(super) fn suits(&self, samples: usize) -> bool {
        match &self.weights {
            Weights::Unlike(groups) => groups.repeat_after(samples),
            _ => self.samples().is_none_or(|own| own == samples),
        }
    }

    /// Number of operators.
    pub(super) fn kinds(&self) -> usize {
        match &self.weights {
            Weights::Pairs(_, operators) => operators.len(),
            Weights::Ones | Weights::Unlike(_) => 1,
        }
    }

    /// Weights of a block of samples against another; none where all are 1.
    pub(super) fn weights(&self, rows: &Range<usize>, columns: &Range<usize>) -> BlockWeights {
        let of_views = match &self.weights {
            Weights::Ones => Vec::new(),
            Weights::Unlike(groups) => vec![groups.unlike(rows, columns)],
            Weights::Pairs(pairs, operators) => {
                operators.iter().map(|operator| pairs.block(operator, rows, columns)).collect()
            }
        };
        BlockWeights { of_views }
    }

    /// What the rows of a view's samples are divided by, for the sums of their weights.
    pub(super) fn divisors(&self, view: usize, sums: &[f64]) -> Vec<f64> {
        match &self.weights {
            Weights::Pairs(pairs, _) if pairs.divisor == Divisor::Sum => sums.to_vec(),
            Weights::Pairs(pairs, _) if pairs.divisor == Divisor::SumWithOwn => {
                let Some(operator) = pairs.operators.get(view).or(pairs.operators.first()) else {
                    return sums.to_vec();
                };
                let own = operator.diagonal().into_data();
                sums.iter().zip(own.iter::<f64>()).map(|(sum, own)| sum + own.max(0.0)).collect()
            }
            _ => vec![1.0; sums.len()],
        }
    }
}

impl PairWeights<'_> {
    fn block(&self, operator: &HostOperator, rows: &Range<usize>, columns: &Range<usize>) -> Vec<f32> {
        let (threshold, width) = (self.threshold as f32, columns.len());
        let mut weights = vec![0.0; rows.len() * width];
        let parts = rows.clone().step_by(PART).zip(weights.chunks_mut(PART * width));
        parallel::map(parts, |(first, part)| {
            operator.write(part, first..(first + PART).min(rows.end), columns);
            Arch::new().dispatch(|| part.iter_mut().for_each(|w| *w = if *w > threshold { *w } else { 0.0 }));
        });
        if rows == columns {
            weights.iter_mut().step_by(width + 1).for_each(|w| *w = 0.0);
        }
        weights
    }
}

/// The weights of one term in a block.
pub(super) struct BlockWeights {
    of_views: Vec<Vec<f32>>,
}

impl BlockWeights {
    /// Those of a view's anchors; none where all are 1.
    pub(super) fn of_view(&self, view: usize) -> &[f32] {
        self.of_views.get(view).or(self.of_views.first()).map_or(&[], Vec::as_slice)
    }

    /// Those of each operator.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &[f32]> {
        self.of_views.iter().map(Vec::as_slice)
    }
}
