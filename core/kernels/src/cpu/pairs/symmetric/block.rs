//! A block of the pairs.

use std::ops::Range;

use super::term::Term;
use crate::cpu::pairs::PART;
use crate::cpu::parallel;

/// Some rows compared with others.
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    /// The view of the rows and the view of the columns.
    pub(super) views: [usize; 2],
    /// True if both contain the same samples, in any view.
    pub(super) same_samples: bool,
    /// True if both are the same rows, so that the block contains each pair twice and each row with itself.
    pub(super) same: bool,
}

impl Block {
    /// The column of the block that a term leaves out for row `i`.
    pub(super) fn left_out(&self, term: &Term<'_>, i: usize) -> Option<usize> {
        (self.same_samples && !self.same && term.without_own_sample).then(|| i - self.rows.start)
    }

    /// The rows of each iteration of a loop.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        parallel::parts(self.rows.clone(), PART)
    }
}
