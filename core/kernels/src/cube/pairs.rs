//! Kernels of log-sum-exps over pairs. In kernels with much arithmetic, a unit holds a block of results in
//! registers and reads vectors: on software GPUs three to four times as fast as shared memory or one result a unit.

use cubecl::prelude::*;

use crate::pair_terms::EMPTY;

/// Number of rows of results in a unit.
pub(crate) const ROWS: usize = 8;
/// Number of columns of results in a unit of [`inner_products`].
pub(crate) const COLUMNS: usize = 4;
/// Number of units that share a row of logits.
pub(crate) const UNITS: usize = 32;

/// The selection and weights of pairs; a separate kernel is compiled for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    /// True if only some pairs count: those with different keys.
    pub(crate) is_partial: bool,
    /// True if those with equal keys count instead.
    pub(crate) is_same_label: bool,
    /// True if keys are read; otherwise they are indices modulo a period.
    pub(crate) has_keys: bool,
    /// True if entries of a matrix are read; otherwise each pair counts once.
    pub(crate) is_weighted: bool,
}

/// A [`Rule`] with its numbers.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct PairRule {
    /// The sign of the entries that count.
    pub(crate) sign: f32,
    /// The threshold that an entry with this sign is above if it counts.
    pub(crate) threshold: f32,
    /// Number of keys, or the period of the indices.
    pub(crate) modulus: usize,
    /// Number of rows of the matrix.
    pub(crate) rows: usize,
    /// Number of columns of the matrix.
    pub(crate) columns: usize,
    #[cube(comptime)]
    pub(crate) rule: Rule,
}

/// A term of a comparison.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct Term {
    /// Factor of the logits inside the exponential.
    pub(crate) power: f32,
    /// Its place among the terms.
    pub(crate) at: usize,
    /// Number of terms.
    pub(crate) terms: usize,
}

/// The anchors whose logits are stored at once, and all candidates.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct AnchorTile {
    /// The first of the anchors.
    pub(crate) first: usize,
    /// Number of these anchors.
    pub(crate) anchors: usize,
    /// Number of candidates.
    pub(crate) candidates: usize,
}

/// The rows whose inner products are computed, and the place of these.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct ProductTile {
    /// Factor of the products.
    pub(crate) scale: f32,
    pub(crate) a_first: usize,
    pub(crate) b_first: usize,
    pub(crate) out_first: usize,
    /// Number of rows of results.
    pub(crate) rows: usize,
    /// Number of columns of results.
    pub(crate) columns: usize,
}

/// The weight of the pair of anchor `i` and candidate `j`.
#[cube]
fn weight(i: usize, j: usize, matrix: &Tensor<f32>, keys: &Tensor<i32>, pairs: &PairRule) -> f32 {
    let mut pair_weight = f32::new(1.0_f32);
    if comptime!(pairs.rule.is_weighted) {
        let entry = pairs.sign * matrix[(i % pairs.rows) * pairs.columns + j % pairs.columns];
        pair_weight = select(entry > pairs.threshold, entry, f32::new(0.0_f32));
    }
    if comptime!(pairs.rule.is_partial) {
        let mut own = i32::cast_from(i % pairs.modulus);
        let mut other = i32::cast_from(j % pairs.modulus);
        if comptime!(pairs.rule.has_keys) {
            own = keys[i % pairs.modulus];
            other = keys[j % pairs.modulus];
        }
        if comptime!(pairs.rule.is_same_label) {
            if own != other {
                pair_weight = f32::new(0.0_f32);
            }
        } else if own == other {
            pair_weight = f32::new(0.0_f32);
        }
    }
    pair_weight
}

/// `out[out_first + i, j] = scale <a[a_first + i], b[b_first + j]>` for `rows` times `columns` results.
#[cube(launch_unchecked)]
pub(crate) fn inner_products<N: Size>(
    a: &Tensor<Vector<f32, N>>,
    b: &Tensor<Vector<f32, N>>,
    out: &mut Tensor<f32>,
    tile: &ProductTile,
    #[comptime] vectors: usize,
) {
    let i = ABSOLUTE_POS_Y as usize * ROWS;
    let j = ABSOLUTE_POS_X as usize * COLUMNS;
    if i >= tile.rows || j >= tile.columns {
        terminate!();
    }
    let mut sums = Array::<f32>::new(comptime!(ROWS * COLUMNS));
    #[unroll]
    for t in 0..comptime!(ROWS * COLUMNS) {
        sums[t] = f32::new(0.0_f32);
    }
    for k in 0..vectors {
        let mut others = Array::<Vector<f32, N>>::new(COLUMNS);
        #[unroll]
        for c in 0..COLUMNS {
            let at = select(j + c < tile.columns, j + c, j);
            others[c] = b[(tile.b_first + at) * vectors + k];
        }
        #[unroll]
        for r in 0..ROWS {
            let at = select(i + r < tile.rows, i + r, i);
            let own = a[(tile.a_first + at) * vectors + k];
            #[unroll]
            for c in 0..COLUMNS {
                sums[r * COLUMNS + c] += own.dot(others[c]);
            }
        }
    }
    #[unroll]
    for r in 0..ROWS {
        #[unroll]
        for c in 0..COLUMNS {
            if i + r < tile.rows && j + c < tile.columns {
                out[(tile.out_first + i + r) * tile.columns + j + c] = tile.scale * sums[r * COLUMNS + c];
            }
        }
    }
}

/// `out[first + row, at] = log sum_j w_ij exp(power s_ij)` for the rows of logits, anchors from `first` on; one
/// cube a row.
#[cube(launch_unchecked)]
pub(crate) fn pair_sums(
    logits: &Tensor<f32>,
    matrix: &Tensor<f32>,
    keys: &Tensor<i32>,
    out: &mut Tensor<f32>,
    pairs: &PairRule,
    term: &Term,
    tile: &AnchorTile,
) {
    let row = CUBE_POS_X as usize;
    let i = tile.first + row;
    let unit = UNIT_POS_X as usize;

    let mut largest = f32::new(comptime!(EMPTY as f32));
    let mut j = unit;
    while j < tile.candidates {
        let x = term.power * logits[row * tile.candidates + j];
        let w = weight(i, j, matrix, keys, pairs);
        if w > f32::new(0.0_f32) && x > largest {
            largest = x;
        }
        j += UNITS;
    }
    let mut sum = f32::new(0.0_f32);
    let mut j = unit;
    while j < tile.candidates {
        let x = term.power * logits[row * tile.candidates + j];
        let w = weight(i, j, matrix, keys, pairs);
        if w > f32::new(0.0_f32) {
            sum += w * (x - largest).exp();
        }
        j += UNITS;
    }

    let log_sum = join(largest, sum);
    if unit == 0 {
        out[i * term.terms + term.at] = log_sum;
    }
}

/// The log-sum-exp of a row, from the largest logit of each unit and its sum of exponentials below that; the first unit
/// receives it.
#[cube]
fn join(largest: f32, sum: f32) -> f32 {
    let unit = UNIT_POS_X as usize;
    let mut tops = Shared::<[f32]>::new_slice(UNITS);
    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    tops[unit] = largest;
    sums[unit] = sum;
    sync_cube();
    let mut log_sum = f32::new(comptime!(EMPTY as f32));
    if unit == 0 {
        let mut top = tops[0];
        for t in 1..UNITS {
            if tops[t] > top {
                top = tops[t];
            }
        }
        let mut total = f32::new(0.0_f32);
        for t in 0..UNITS {
            total += sums[t] * (tops[t] - top).exp();
        }
        if total != f32::new(0.0_f32) {
            log_sum = top + total.ln();
        }
    }
    log_sum
}

/// Factor of the gradient of a term of anchor `i` for the pair with `j`.
#[cube]
fn grad_weight(
    i: usize,
    j: usize,
    logit: f32,
    matrix: &Tensor<f32>,
    keys: &Tensor<i32>,
    sums: &Tensor<f32>,
    gradient: &Tensor<f32>,
    pairs: &PairRule,
    term: &Term,
) -> f32 {
    let mut factor = f32::new(0.0_f32);
    let sum = sums[i * term.terms + term.at];
    let w = weight(i, j, matrix, keys, pairs);
    if w > f32::new(0.0_f32) && sum != f32::new(comptime!(EMPTY as f32)) {
        factor = gradient[i * term.terms + term.at] * w * (term.power * logit - sum).exp();
    }
    factor
}

/// `out[row, j] (+)= factor (g_i w_ij exp(power s_ij - m_i))`, anchors from `first` on; if anchors are the
/// candidates, plus the same with `j` and `i` exchanged.
#[cube(launch_unchecked)]
pub(crate) fn grad_weights(
    logits: &Tensor<f32>,
    matrix: &Tensor<f32>,
    keys: &Tensor<i32>,
    sums: &Tensor<f32>,
    gradient: &Tensor<f32>,
    out: &mut Tensor<f32>,
    factor: f32,
    pairs: &PairRule,
    term: &Term,
    tile: &AnchorTile,
    #[comptime] is_within: bool,
    #[comptime] adds: bool,
) {
    let at = ABSOLUTE_POS;
    if at >= tile.anchors * tile.candidates {
        terminate!();
    }
    let i = tile.first + at / tile.candidates;
    let j = at % tile.candidates;
    let logit = logits[at];
    let mut derivative = grad_weight(i, j, logit, matrix, keys, sums, gradient, pairs, term);
    if comptime!(is_within) {
        derivative += grad_weight(j, i, logit, matrix, keys, sums, gradient, pairs, term);
    }
    derivative *= factor;
    if comptime!(adds) {
        derivative += out[at];
    }
    out[at] = derivative;
}

/// `out[first + i] = sum_j grad_weights[i, j] b[j]`; a unit computes some rows and a vector of their values.
#[cube(launch_unchecked)]
pub(crate) fn by_rows<M: Size, N: Size>(
    grad_weights: &Tensor<Vector<f32, M>>,
    b: &Tensor<Vector<f32, N>>,
    out: &mut Tensor<Vector<f32, N>>,
    first: usize,
    rows: usize,
    steps: usize,
    #[comptime] vectors: usize,
    #[comptime] step: usize,
) {
    let i = ABSOLUTE_POS_Y as usize * ROWS;
    let k = ABSOLUTE_POS_X as usize;
    if i >= rows || k >= vectors {
        terminate!();
    }
    let mut sums = Array::<Vector<f32, N>>::new(ROWS);
    #[unroll]
    for t in 0..ROWS {
        sums[t] = Vector::new(0.0_f32);
    }
    for j in 0..steps {
        let mut others = Array::<Vector<f32, N>>::new(step);
        #[unroll]
        for c in 0..step {
            others[c] = b[(j * step + c) * vectors + k];
        }
        #[unroll]
        for r in 0..ROWS {
            let at = select(i + r < rows, i + r, i);
            let own = grad_weights[at * steps + j];
            #[unroll]
            for c in 0..step {
                sums[r] += Vector::new(own.extract(c)) * others[c];
            }
        }
    }
    #[unroll]
    for r in 0..ROWS {
        if i + r < rows {
            out[(first + i + r) * vectors + k] = sums[r];
        }
    }
}

/// `out[j] (+)= sum_i grad_weights[i, j] a[first + i]`; a unit computes the columns of `blocks` vectors of them and a
/// vector of their values. The first unit has the columns of place `first_unit`.
#[cube(launch_unchecked)]
pub(crate) fn by_columns<M: Size, N: Size>(
    grad_weights: &Tensor<Vector<f32, M>>,
    a: &Tensor<Vector<f32, N>>,
    out: &mut Tensor<Vector<f32, N>>,
    first: usize,
    first_unit: usize,
    rows: usize,
    steps: usize,
    #[comptime] vectors: usize,
    #[comptime] step: usize,
    #[comptime] blocks: usize,
    #[comptime] adds: bool,
) {
    let j = (first_unit + ABSOLUTE_POS_Y as usize) * blocks;
    let k = ABSOLUTE_POS_X as usize;
    if j >= steps || k >= vectors {
        terminate!();
    }
    let columns = comptime!(blocks * step);
    let mut sums = Array::<Vector<f32, N>>::new(columns);
    #[unroll]
    for c in 0..columns {
        sums[c] = Vector::new(0.0_f32);
        if comptime!(adds) {
            sums[c] = out[(j * step + c) * vectors + k];
        }
    }
    for i in 0..rows {
        let other = a[(first + i) * vectors + k];
        #[unroll]
        for block in 0..blocks {
            let own = grad_weights[i * steps + j + block];
            #[unroll]
            for c in 0..step {
                sums[block * step + c] += Vector::new(own.extract(c)) * other;
            }
        }
    }
    #[unroll]
    for c in 0..columns {
        out[(j * step + c) * vectors + k] = sums[c];
    }
}
