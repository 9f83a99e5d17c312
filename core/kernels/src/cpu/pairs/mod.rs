//! Log-sum-exps over pairs of rows, and their gradients: half of the pairs ([`symmetric`]) if rows are compared with themselves
//! and terms are symmetric, [`tiled`] otherwise.

pub(crate) mod symmetric;
pub(crate) mod tiled;

use std::ops::Range;

use super::gemm::{assign, matrix};
use crate::pair_terms::{LogSumExp, Pairs, Weight};

/// Number of rows in one iteration of a loop.
const PART: usize = 64;

/// The weights that terms refer to; see [`PairWeights`](crate::PairWeights).
#[derive(Debug, Clone)]
pub(crate) enum Weights<'w> {
    /// No weights.
    Ones,
    /// The group of each row.
    Groups(&'w [i64]),
    /// A weight for each pair, in row order.
    Pairs(&'w [f32]),
    /// Weights of pairs of samples, `[v samples, samples]`.
    Samples {
        /// In row order.
        entries: &'w [f32],
        /// Number of samples.
        samples: usize,
    },
    /// The same as products of factors.
    Factors {
        /// `[v samples, width]`.
        left: &'w [f32],
        /// `[v samples, width]`.
        right: &'w [f32],
        /// Columns of a factor.
        width: usize,
        /// Number of samples.
        samples: usize,
    },
}

impl Weights<'_> {
    /// Number of matrices of weights of samples.
    fn matrices(&self) -> usize {
        match self {
            Self::Samples { entries, samples } => entries.len() / (samples * samples).max(1),
            Self::Factors { left, width, samples, .. } => left.len() / (width * samples).max(1),
            Self::Ones | Self::Groups(_) | Self::Pairs(_) => 1,
        }
    }

    /// Number of samples, if weights are those of pairs of samples.
    fn samples(&self) -> Option<usize> {
        match self {
            Self::Samples { samples, .. } | Self::Factors { samples, .. } => Some(*samples),
            Self::Ones | Self::Groups(_) | Self::Pairs(_) => None,
        }
    }

    /// Writes entries of a matrix of samples to `target`, in row order.
    fn write(&self, target: &mut [f32], at: usize, rows: &Range<usize>, columns: &Range<usize>) {
        match self {
            Self::Samples { entries, samples } => {
                for (target, i) in target.chunks_exact_mut(columns.len()).zip(rows.clone()) {
                    let start = (at * samples + i) * samples;
                    target.copy_from_slice(&entries[start + columns.start..start + columns.end]);
                }
            }
            Self::Factors { left, right, width, samples } => {
                let of = |range: &Range<usize>| {
                    (at * samples + range.start) * width..(at * samples + range.end) * width
                };
                let (left, right) = (matrix(&left[of(rows)], *width), matrix(&right[of(columns)], *width));
                assign(target, left, right.transpose());
            }
            Self::Ones | Self::Groups(_) | Self::Pairs(_) => target.fill(1.0),
        }
    }

    /// The group of a row.
    fn group(&self, i: usize) -> i64 {
        match self {
            Self::Groups(groups) => groups[i % groups.len().max(1)],
            _ => i64::try_from(i).unwrap_or(i64::MAX),
        }
    }

    /// The weights in a term of the pairs of anchors `rows` with candidates `columns` of `m`, in row order; `None` if
    /// each counts once.
    fn in_tile(
        &self,
        term: &LogSumExp,
        rows: &Range<usize>,
        columns: &Range<usize>,
        m: usize,
    ) -> Option<Vec<f32>> {
        let entries = term.weight.bound().and_then(|bound| Some((bound, self.entries(rows, columns, m)?)));
        let mut weights = match entries {
            None if term.pairs == Pairs::All => return None,
            None => vec![1.0; rows.len() * columns.len()],
            Some((bound, mut entries)) => {
                keep_above(&mut entries, bound);
                entries
            }
        };
        let groups: Vec<i64> = match term.pairs {
            Pairs::All | Pairs::NotCongruent { .. } => Vec::new(),
            Pairs::OtherLabel | Pairs::SameLabel => columns.clone().map(|j| self.group(j)).collect(),
        };
        for (row, i) in weights.chunks_exact_mut(columns.len().max(1)).zip(rows.clone()) {
            match term.pairs {
                Pairs::All => {}
                Pairs::NotCongruent { period } => {
                    let period = period.max(1);
                    let first = (i % period + period - columns.start % period) % period;
                    row.iter_mut().skip(first).step_by(period).for_each(|w| *w = 0.0);
                }
                Pairs::OtherLabel | Pairs::SameLabel => {
                    let (own, is_same_label) = (self.group(i), term.pairs == Pairs::SameLabel);
                    vectorised!(row.iter_mut().zip(&groups).for_each(|(w, group)| {
                        *w = if (*group == own) == is_same_label { *w } else { 0.0 };
                    }));
                }
            }
        }
        Some(weights)
    }

    /// The entries of anchors `rows` and candidates `columns` of `m`, in row order.
    fn entries(&self, rows: &Range<usize>, columns: &Range<usize>, m: usize) -> Option<Vec<f32>> {
        let width = columns.len();
        if let Self::Pairs(entries) = self {
            let mut submatrix = Vec::with_capacity(rows.len() * width);
            rows.clone().for_each(|i| submatrix.extend_from_slice(&entries[i * m..][columns.clone()]));
            return Some(submatrix);
        }
        let samples = self.samples().filter(|samples| *samples > 0)?;
        let mut submatrix = vec![0.0; rows.len() * width];
        let mut block = Vec::new();
        for (view, row_samples, top) in by_view(rows, samples) {
            for (_, column_samples, left) in by_view(columns, samples) {
                block.resize(row_samples.len() * column_samples.len(), 0.0);
                self.write(&mut block, view % self.matrices().max(1), &row_samples, &column_samples);
                for (k, values) in block.chunks_exact(column_samples.len()).enumerate() {
                    submatrix[(top + k) * width + left..][..values.len()].copy_from_slice(values);
                }
            }
        }
        Some(submatrix)
    }
}

/// The parts of some rows by view: the view, the samples of the part, and the number of rows before it.
fn by_view(rows: &Range<usize>, samples: usize) -> impl Iterator<Item = (usize, Range<usize>, usize)> {
    let Range { start, end } = *rows;
    (start / samples..end.div_ceil(samples)).map(move |view| {
        let first = view * samples;
        let part = start.max(first)..end.min(first + samples);
        (view, part.start - first..part.end - first, part.start - start)
    })
}

/// Replaces entries by their product with a sign if that is above a threshold, and by 0 otherwise.
fn keep_above(entries: &mut [f32], (sign, threshold): (f64, f64)) {
    let (sign, threshold) = (sign as f32, threshold as f32);
    vectorised!({
        entries.iter_mut().for_each(|w| *w = if *w * sign > threshold { *w * sign } else { 0.0 });
    });
}

/// True if each pair counts once.
fn counts_once(term: &LogSumExp) -> bool {
    term.weight == Weight::One
}
