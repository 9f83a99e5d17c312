//! The weights on the host, in `f32`, read in blocks.

use std::ops::Range;

use crate::host::Numbers;
use simile_kernels::cpu::gemm::{assign, matrix};

/// `W` but for its diagonal, row by row.
pub(crate) enum HostOperator {
    /// `[rows, rows]`.
    Dense { entries: Numbers, rows: usize },
    /// `L R^T`, `[rows, width]` both.
    Factors { left: Numbers, right: Numbers, width: usize },
}

impl HostOperator {
    /// Number of samples.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Dense { rows, .. } => *rows,
            Self::Factors { left, width, .. } => left.len() / (*width).max(1),
        }
    }

    /// Writes rows and columns of `W` to `target`, row by row; entries on the diagonal are unspecified.
    pub(crate) fn write(&self, target: &mut [f32], rows: Range<usize>, columns: &Range<usize>) {
        match self {
            Self::Dense { entries, rows: n } => {
                for (target, i) in target.chunks_exact_mut(columns.len()).zip(rows) {
                    target.copy_from_slice(&entries[i * n + columns.start..i * n + columns.end]);
                }
            }
            Self::Factors { left, right, width } => {
                let of = |range: &Range<usize>| range.start * width..range.end * width;
                let (left, right) = (matrix(&left[of(&rows)], *width), matrix(&right[of(columns)], *width));
                assign(target, left, right.transpose());
            }
        }
    }
}
