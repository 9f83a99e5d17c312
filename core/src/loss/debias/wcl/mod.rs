//! Difficulty-weighted contrastive learning: a network that amplifies the bias determines which negatives are hard.
//!
//! A first network `E_b` (`view_a_biased`, `view_b_biased`) learns easy, biased features by a triplet loss
//! ([`WclTriplet`]). A negative that is near the anchor in `E_b` but far in the second network `E_d` (`view_a`,
//! `view_b`) is hard; such negatives weigh more in the loss of `E_d` ([`WclWeightedInfoNce`], [`WclWeightedDcl`]).
//! Jang and Wang, *Difficulty-Based Sampling for Debiased Contrastive Representation Learning* (2023). The weights
//! carry no gradient.
//!
//! | variant | weight of anchor `i` and negative `j` |
//! |---|---|
//! | `paper` | `1 + D_ij / (D_ij + B_ij)` with the distance in each network, divided by the largest of all anchors and negatives |
//! | `released` | `1 + q_ij / (q_ij + p_ij + 1e-6)` with `exp s_ij` in each network, each row divided by its Euclidean length |
//!
//! `D` and `q` are those of `E_d`, `B` and `p` those of `E_b`.
//!
//! The two have opposite senses: the released weight is large if a pair is *similar* in `E_d` and not in `E_b`. The
//! poster does not state whether its distances are squared; `distance` selects. If both distances of a pair are 0,
//! its weight is 1.5.

pub mod triplet;
pub mod weighted;

use std::ops::Range;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use simile_kernels::tile_rows;

use crate::loss::objective::{Aux, Variant};
use crate::loss::pairwise::{itself, leave_out, other_view};
use crate::numeric::matrix::indices;
use simile_kernels::{RowSoftmax, gemm};

pub use triplet::WclTriplet;
pub use weighted::{Correction, WclWeightedDcl, WclWeightedInfoNce};

/// The distance of two unit rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// `|x - y|^2`.
    #[default]
    Squared,
    /// `|x - y|`.
    Euclidean,
}

/// Stacked unit rows of one network, and the normalisation of their comparison.
struct Network {
    rows: Tensor<2>,
    measure: Measure,
}

#[allow(clippy::large_enum_variant, reason = "there are two of these")]
enum Measure {
    /// `exp s_ij` over the Euclidean length of its row.
    Similarity { temperature: f64 },
    /// The distance over the largest of the batch, `[1, 1]`.
    Distance { distance: Distance, largest: Tensor<2> },
}

impl Network {
    /// The similarities of a network.
    fn similarities(rows: Tensor<2>, temperature: f64) -> Self {
        Self { rows, measure: Measure::Similarity { temperature } }
    }

    /// The distances of a network; the largest is computed in tiles.
    fn distances(rows: Tensor<2>, distance: Distance, tile: Option<usize>) -> Self {
        // Centring changes no distance, and avoids cancellation if all rows are nearly equal.
        let rows = rows.clone() - rows.mean_dim(0);
        let [n, _] = rows.dims();
        let tile = tile_rows(tile, n, n);
        let largest = (0..n).step_by(tile).map(|start| {
            let range = start..(start + tile).min(n);
            distances(&rows, distance, &range).max_dim(0).max_dim(1)
        });
        let largest = Tensor::cat(largest.collect(), 0).max_dim(0);
        let coincident = largest.clone().lower_equal_elem(0.0);
        let largest = largest.mask_fill(coincident, 1.0);
        Self { rows, measure: Measure::Distance { distance, largest } }
    }

    /// The measure of a tile of anchors against all rows; 0 for the anchor itself and its other view.
    fn tile(&self, range: &Range<usize>) -> Tensor<2> {
        match &self.measure {
            Measure::Distance { distance, largest } => {
                distances(&self.rows, *distance, range) / largest.clone()
            }
            Measure::Similarity { temperature } => {
                let anchors = crate::loss::pairwise::rows_of(&self.rows, range.clone()) / *temperature;
                let logits = without_own_pair(gemm(anchors, self.rows.clone().transpose()), range);
                // A constant factor of the row cancels, so its softmax replaces the exponentials.
                let similarities = RowSoftmax::new(logits).softmax;
                let length = similarities.clone().square().sum_dim(1).sqrt();
                similarities / length
            }
        }
    }
}

/// A squared distance `|x|^2 + |y|^2 - 2 <x, y>` below this many machine epsilons of `|x|^2 + |y|^2` counts as 0.
const ROUNDING_UNITS: f64 = 8.0;
/// Distances of unit rows below this many machine epsilons count as 0, because rounding alone makes them.
const UNIT_ROUNDING: f64 = 16.0;

/// Distances of a tile of anchors to all rows; 0 for the anchor itself and its other view.
fn distances(rows: &Tensor<2>, distance: Distance, range: &Range<usize>) -> Tensor<2> {
    let squares = rows.clone().square().sum_dim(1);
    let anchors = crate::loss::pairwise::rows_of(rows, range.clone());
    let products = gemm(anchors, rows.clone().transpose());
    let terms = crate::loss::pairwise::rows_of(&squares, range.clone()) + squares.transpose();
    let squared = without_own_pair(terms.clone() - products * 2.0, range);
    let epsilon = rows.dtype().finfo().map_or(0.0, |info| info.epsilon);
    let rounding = (terms * (ROUNDING_UNITS * epsilon)).clamp_min((UNIT_ROUNDING * epsilon).powi(2));
    let squared = squared.clone().mask_fill(squared.lower(rounding), 0.0);
    match distance {
        Distance::Squared => squared,
        Distance::Euclidean => squared.sqrt(),
    }
}

/// Sets the anchor itself and its other view to a number far below 0.
fn without_own_pair(tile: Tensor<2>, range: &Range<usize>) -> Tensor<2> {
    let [_, n] = tile.dims();
    let tile = leave_out(tile, &itself(n), range);
    leave_out(tile, &other_view(n / 2), range)
}

/// The difficulty weights of a tile of anchors, from 1 to 2; 1 or 1.5 for the own pair, which is not a negative.
fn difficulty(debiased: &Network, biased: &Network, range: &Range<usize>, variant: Variant) -> Tensor<2> {
    let (d, b) = (debiased.tile(range), biased.tile(range));
    let share = match variant {
        Variant::Released => d.clone() / (b + d + 1e-6),
        Variant::Paper => {
            let sum = b + d.clone();
            let undefined = sum.clone().lower_equal_elem(0.0);
            (d / sum.mask_fill(undefined.clone(), 1.0)).mask_fill(undefined, 0.5)
        }
    };
    share + 1.0
}

/// The weights of all anchors without the columns of their own pair, `[2b, 2b - 2]`.
fn weight_table(weights: Tensor<2>) -> Aux {
    let [n, _] = weights.dims();
    let other = other_view(n / 2);
    let negatives: Vec<usize> = (0..n)
        .flat_map(|i| (0..n).filter(move |&j| j != i).map(move |j| (i, j)))
        .filter(|&(i, j)| other.get(i) != Some(&j))
        .map(|(_, j)| j)
        .collect();
    let at = indices(&negatives, &weights.device()).reshape([n, n.saturating_sub(2)]);
    Aux::Tensor(weights.gather(1, at))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::loss::finite_difference::read;
    use crate::numeric::matrix::Matrix;
    use crate::numeric::unit_rows::UnitRows;

    #[test]
    fn distances_of_rows_that_are_nearly_alike_have_the_digits_of_their_differences() {
        for (dtype, apart, tolerance) in [(DType::F64, 1e-6, 1e-8), (DType::F32, 1e-3, 1e-2)] {
            let value = |i: usize, j: usize| 1.0 + apart * ((3 * i + 7 * j) as f64).sin();
            let rows = Matrix::from_fn(6, 4, value).to_tensor(&Device::flex(), dtype);
            let rows = UnitRows::normalise(rows).rows();
            let network = Network::distances(rows.clone(), Distance::Squared, None);
            let (found, rows) = (read(network.tile(&(0..6))), read(rows));
            let direct = |i: usize, j: usize| -> f64 {
                rows.row(i).iter().zip(rows.row(j)).map(|(x, y)| (x - y).powi(2)).sum()
            };
            let is_negative = |i: usize, j: usize| i % 3 != j % 3;
            let pairs = || (0..36).map(|at| (at / 6, at % 6)).filter(|&(i, j)| is_negative(i, j));
            let largest = pairs().map(|(i, j)| direct(i, j)).fold(0.0, f64::max);
            assert!(largest > 0.0);
            for (i, j) in pairs() {
                let expected = direct(i, j) / largest;
                assert!((found[(i, j)] - expected).abs() < tolerance, "{dtype:?} {i} {j}: {expected}");
            }
        }
    }
}
