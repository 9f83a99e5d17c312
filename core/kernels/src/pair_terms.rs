//! The pairs of a sum and their weights: defined once, for operations and loops.

use std::ops::Range;

/// The stand-in for `log 0`: far below any logarithm of a sum, yet finite in `f32`.
pub const EMPTY: f64 = -1e30;

/// Approximate number of similarities that plain bodies hold at once by default: 16 MiB in `f32`.
const TILE_ENTRIES: usize = 1 << 22;
/// Number of similarities that are stored for the backward pass, 64 MiB in `f32`; more are computed twice.
const STORED_ENTRIES: usize = 1 << 24;
/// Number of anchors of which they are stored: a GPU starts a workgroup for each, and WebGPU allows no more in a row.
const STORED_ANCHORS: usize = 65_535;

/// `log sum_j W_ij exp(power * s_ij)` for each anchor `i`. With power 0 it is the logarithm of the weights' sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogSumExp {
    /// Factor of the similarities, 0 or above.
    pub power: f64,
    /// The candidates.
    pub pairs: Pairs,
    /// The weight of each.
    pub weight: Weight,
}

/// The candidates `j` of an anchor `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// All.
    All,
    /// All except those with `j = i` modulo `period`.
    NotCongruent {
        /// Modulus of the indices.
        period: usize,
    },
    /// Those of a different group from the anchor's.
    OtherLabel,
    /// Those of the anchor's group.
    SameLabel,
}

/// The weight of a pair, from its entry in the weights of the comparison; 1 if the comparison has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weight {
    /// Each pair once.
    One,
    /// The entry if it is above a threshold of at least 0, else 0.
    Above(f64),
    /// The negated entry if that is above a threshold of at least 0, else 0.
    Below(f64),
}

impl Weight {
    /// The sign of the entries that count and their threshold; `None` if each pair counts once.
    pub(crate) fn bound(self) -> Option<(f64, f64)> {
        match self {
            Self::One => None,
            Self::Above(threshold) => Some((1.0, threshold)),
            Self::Below(threshold) => Some((-1.0, threshold)),
        }
    }
}

impl LogSumExp {
    /// The sum over all candidates with weight one.
    pub fn all() -> Self {
        Self { power: 1.0, pairs: Pairs::All, weight: Weight::One }
    }

    /// The sum over all candidates but the anchor itself, for anchors that are the candidates: `rows` of them.
    pub fn other_rows(rows: usize) -> Self {
        Self { pairs: Pairs::NotCongruent { period: rows }, ..Self::all() }
    }

    /// The sum over all candidates but the views of the anchor's sample, with all `samples` of one view after those of another.
    pub fn other_samples(samples: usize) -> Self {
        Self { pairs: Pairs::NotCongruent { period: samples }, ..Self::all() }
    }

    /// The sum over the candidates of a different group from the anchor's.
    pub fn other_label() -> Self {
        Self { pairs: Pairs::OtherLabel, ..Self::all() }
    }

    /// The sum over the candidates of the anchor's group.
    pub fn same_label() -> Self {
        Self { pairs: Pairs::SameLabel, ..Self::all() }
    }

    /// Weights the pairs by the entries of the comparison's weights.
    #[must_use]
    pub fn weighted(self, weight: Weight) -> Self {
        Self { weight, ..self }
    }

    /// Multiplies the similarities by `power` inside the exponential.
    #[must_use]
    pub fn with_power(self, power: f64) -> Self {
        Self { power, ..self }
    }
}

/// The sums over the pairs of a comparison with `s_ij = scale <a_i, c_j>`.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The sums, at least one.
    pub terms: Vec<LogSumExp>,
    /// The factor of inner products, the reciprocal of a temperature.
    pub scale: f64,
    /// Largest number of anchors whose similarities with all candidates are in memory at once; `None` for a number that suits the body.
    /// If there are more anchors, none are stored for the backward pass, which computes them again.
    pub tile: Option<usize>,
    /// True if candidates get no gradient.
    pub constant_candidates: bool,
}

impl Comparison {
    /// The sums `terms` with similarities `scale <a_i, c_j>`.
    pub fn new(terms: impl Into<Vec<LogSumExp>>, scale: f64) -> Self {
        Self { terms: terms.into(), scale, tile: None, constant_candidates: false }
    }

    /// The tiles of anchors of a plain body, in order.
    pub(crate) fn tiles(
        &self,
        anchors: usize,
        candidates: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let size = tile_rows(self.tile, anchors, candidates);
        (0..anchors).step_by(size).map(move |start| start..(start + size).min(anchors))
    }

    /// True if the similarities of that many anchors and candidates are stored for the backward pass.
    pub(crate) fn stores(&self, anchors: usize, candidates: usize) -> bool {
        self.tile.is_none_or(|tile| tile >= anchors)
            && anchors <= STORED_ANCHORS
            && anchors.saturating_mul(candidates) <= STORED_ENTRIES
    }

    /// The shape of the stored data: a single number if nothing is stored.
    #[cfg(any(feature = "fusion", feature = "cube"))]
    pub(crate) fn stored_shape(&self, anchors: usize, candidates: usize) -> [usize; 2] {
        if self.stores(anchors, candidates) { [anchors, candidates] } else { [1, 1] }
    }
}

/// Number of anchors in one tile: `tile`, or a number that suits the numbers of both.
pub fn tile_rows(tile: Option<usize>, anchors: usize, candidates: usize) -> usize {
    tile.unwrap_or(TILE_ENTRIES / candidates.max(1)).clamp(1, anchors.max(1))
}

/// The least number of similarities that a comparison without a tile of its own has in memory at once: all of them, kept for the
/// backward pass, or those of a tile.
pub fn similarities_at_once(anchors: u64, candidates: u64) -> u64 {
    let all = anchors.saturating_mul(candidates);
    let are_stored = anchors <= STORED_ANCHORS as u64 && all <= STORED_ENTRIES as u64;
    if are_stored { all } else { all.min(TILE_ENTRIES as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_are_stored_if_they_are_few_and_in_one_tile() {
        let of = |tile| Comparison { tile, ..Comparison::new([LogSumExp::all()], 1.0) };
        assert!(of(None).stores(4096, 4096) && !of(None).stores(4097, 4096) && !of(None).stores(65_536, 1));
        assert!(of(Some(64)).stores(64, 8) && !of(Some(63)).stores(64, 8));
    }
}
