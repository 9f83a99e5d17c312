//! The terms that half of the pairs suffice for, with their weights.

use std::ops::Range;

use crate::cpu::pairs::{PART, Weights, counts_once, keep_above};
use crate::cpu::parallel;
use crate::pair_terms::{LogSumExp, Pairs};

/// A term of a comparison of rows with themselves, over other rows.
pub(super) struct Term<'h> {
    pub(super) power: f32,
    /// True if the other views of a row's sample are left out too.
    pub(super) without_own_sample: bool,
    /// Number of samples, if the term defines it.
    pub(super) samples: Option<usize>,
    /// The source of its weights, if they are not 1.
    weights: Option<(&'h LogSumExp, &'h Weights<'h>)>,
}

impl<'h> Term<'h> {
    /// The term of `n` rows, if it is symmetric in them.
    pub(super) fn of(term: &'h LogSumExp, n: usize, weights: &'h Weights<'h>) -> Option<Self> {
        let power = term.power as f32;
        let is_weighted = !counts_once(term) && !matches!(weights, Weights::Ones | Weights::Groups(_));
        Some(match term.pairs {
            Pairs::NotCongruent { period } if is_weighted => {
                let samples = weights.samples().filter(|samples| *samples == period)?;
                let weights = Some((term, weights));
                Self { power, without_own_sample: false, samples: Some(samples), weights }
            }
            _ if is_weighted => return None,
            Pairs::NotCongruent { period } if period == n => {
                Self { power, without_own_sample: false, samples: None, weights: None }
            }
            Pairs::NotCongruent { period } => {
                Self { power, without_own_sample: true, samples: Some(period), weights: None }
            }
            Pairs::OtherLabel => {
                Self { power, without_own_sample: false, samples: None, weights: Some((term, weights)) }
            }
            Pairs::All | Pairs::SameLabel => return None,
        })
    }

    /// True if the term fits this number of samples.
    pub(super) fn suits(&self, samples: usize) -> bool {
        match (self.samples, self.weights) {
            (Some(own), _) => own == samples,
            (None, Some((_, Weights::Groups(groups)))) => {
                groups.iter().zip(groups.iter().skip(samples)).all(|(one, next)| one == next)
            }
            (None, Some(_)) => false,
            (None, None) => true,
        }
    }

    /// Weights of a block of samples against another, for each matrix; empty if all are 1.
    pub(super) fn weights(&self, rows: &Range<usize>, columns: &Range<usize>) -> BlockWeights {
        let Some((term, weights)) = self.weights else { return BlockWeights::default() };
        let width = columns.len();
        let entries_of = |at: usize| {
            let mut entries = vec![0.0; rows.len() * width];
            let parts = parallel::parts(rows.clone(), PART).zip(entries.chunks_mut((PART * width).max(1)));
            parallel::map(parts, |(rows, part)| match term.weight.bound() {
                Some(bound) if term.pairs != Pairs::OtherLabel => {
                    weights.write(part, at, &rows, columns);
                    keep_above(part, bound);
                }
                _ => {
                    for (row, i) in part.chunks_exact_mut(width).zip(rows) {
                        let own = weights.group(i);
                        let differs = |j: usize| f32::from(u8::from(weights.group(j) != own));
                        row.iter_mut().zip(columns.clone()).for_each(|(w, j)| *w = differs(j));
                    }
                }
            });
            if rows == columns {
                entries.iter_mut().step_by(width + 1).for_each(|w| *w = 0.0);
            }
            entries
        };
        BlockWeights { by_view: (0..weights.matrices()).map(entries_of).collect() }
    }
}

/// The weights of one term in a block.
#[derive(Default)]
pub(super) struct BlockWeights {
    by_view: Vec<Vec<f32>>,
}

impl BlockWeights {
    /// The weights of a view's anchors, where the matrices of fewer views repeat; empty if all are 1.
    pub(super) fn for_view(&self, view: usize) -> &[f32] {
        self.by_view.get(view % self.by_view.len().max(1)).map_or(&[], Vec::as_slice)
    }
}
