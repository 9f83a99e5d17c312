//! Weights of pairs that do not depend on who is the anchor.

use std::ops::Range;

use pulp::Arch;

use super::{LogSumExp, itself};
use crate::conditional::DeviceOperator;
use crate::parallel;

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

/// A term of a comparison of rows with themselves.
pub(super) enum Term<'c, 'a> {
    /// All rows but the own one, weight 1.
    Others,
    /// Weights of pairs.
    Pairs(&'c PairWeights<'a>),
}

impl<'c, 'a> Term<'c, 'a> {
    /// The term, if it is one of these two.
    pub(super) fn of(term: &'c LogSumExp<'a>, n: usize) -> Option<Self> {
        if let Some(pairs) = &term.pairs {
            return Some(Self::Pairs(pairs));
        }
        let plain = term.power == 1.0 && term.mask.is_none() && term.log_weights.is_none();
        (plain && term.excluded == [itself(n)]).then_some(Self::Others)
    }

    /// Number of samples, if the term says so.
    pub(super) fn samples(&self) -> Option<usize> {
        match self {
            Self::Others => None,
            Self::Pairs(pairs) => pairs.operators.first().map(|operator| operator.rows()),
        }
    }

    /// Number of operators.
    pub(super) fn kinds(&self) -> usize {
        match self {
            Self::Others => 1,
            Self::Pairs(pairs) => pairs.operators.len(),
        }
    }

    /// Weights of a block of samples against another; none where all are 1.
    pub(super) fn weights(&self, rows: &Range<usize>, columns: &Range<usize>) -> BlockWeights {
        let of_views = match self {
            Self::Others => Vec::new(),
            Self::Pairs(pairs) => {
                pairs.operators.iter().map(|operator| pairs.block(operator, rows, columns)).collect()
            }
        };
        BlockWeights { of_views }
    }

    /// What the rows of a view's samples are divided by, for the sums of their weights.
    pub(super) fn divisors(&self, view: usize, sums: &[f64]) -> Vec<f64> {
        match self {
            Self::Pairs(pairs) if pairs.divisor == Divisor::Sum => sums.to_vec(),
            Self::Pairs(pairs) if pairs.divisor == Divisor::SumWithOwn => {
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
    fn block(&self, operator: &DeviceOperator, rows: &Range<usize>, columns: &Range<usize>) -> Vec<f32> {
        let block = operator.block(rows.clone(), columns.clone()).into_data();
        let mut weights = match block.as_slice::<f32>() {
            Ok(weights) => weights.to_vec(),
            Err(_) => block.iter::<f32>().collect(),
        };
        let (threshold, width) = (self.threshold as f32, columns.len());
        parallel::map(weights.chunks_mut(PART * width), |part| {
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
