//! The rows of a batch that a process computes, where several share a step.

use std::ops::Range;

/// The rows of every batch that one process computes: the chunks of its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchShard {
    /// Samples of a chunk.
    pub(super) chunk: usize,
    /// Devices of each process.
    pub(super) devices: usize,
    pub(super) rank: usize,
    pub(super) ranks: usize,
}

impl BatchShard {
    /// The whole batch, as one process computes it.
    pub const WHOLE: Self = Self { chunk: 1, devices: 1, rank: 0, ranks: 1 };

    /// The rows of the batch whose views this process computes, in order. In a small batch a process may have no chunk; it then
    /// takes one row that it does not use.
    pub fn rows(self, samples: usize) -> Vec<Range<usize>> {
        if self.ranks == 1 {
            return vec![0..samples];
        }
        let rows: Vec<Range<usize>> = self.chunks(samples).collect();
        if rows.is_empty() { std::iter::once(0..samples.min(1)).collect() } else { rows }
    }

    /// The rows of each chunk of this process, in order.
    pub(super) fn chunks(self, samples: usize) -> impl Iterator<Item = Range<usize>> {
        let Self { chunk, devices, rank, ranks } = self;
        let is_own = move |index: &usize| index % (devices * ranks) / devices == rank;
        let rows = move |index: usize| index * chunk..((index + 1) * chunk).min(samples);
        (0..samples.div_ceil(chunk)).filter(is_own).map(rows)
    }

    /// The shards of all processes, by rank.
    pub(super) fn all_ranks(self) -> impl Iterator<Item = Self> {
        (0..self.ranks).map(move |rank| Self { rank, ..self })
    }

    /// True if the batch is so small that this process has no chunk.
    pub(super) fn is_idle(self, samples: usize) -> bool {
        self.chunks(samples).next().is_none()
    }
}
