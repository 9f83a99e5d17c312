//! The launches of the kernels of log-sum-exps over pairs.

use burn::backend::TensorMetadata;
use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::tensor::{DType, FloatDType, IntDType, Shape};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{CubeCount, CubeDim};

use super::super::memory::{empty, lanes, one_each};
use crate::cube::pairs::{
    AnchorTileLaunch, COLUMNS, PairRuleLaunch, ProductTileLaunch, ROWS, Rule, TermLaunch, UNITS, by_columns,
    by_rows, grad_weights, inner_products, pair_sums,
};
use crate::pair_terms::{LogSumExp, Pairs};
use crate::{Comparison, PairWeights};

/// Number of logits computed at once if they are not stored.
const ROUND: usize = 1 << 22;
/// Most anchors of a round, each with a workgroup: a multiple of [`ROWS`] within the 65,535 that WebGPU allows in a row.
const ROUND_ANCHORS: usize = 1 << 15;
/// Most units in a column of a launch whose workgroups have four of them there: WebGPU allows 65,535 workgroups.
const MOST_UNITS: usize = 4 * 65_535;
/// Most entries of a matrix of weights that kernels read: their indices have 32 bits. The plain body takes larger ones by tiles.
const MOST_ENTRIES: usize = u32::MAX as usize;

/// Anchors, candidates and weights as arguments of the kernels.
pub(super) struct PairKernels<'l> {
    anchors: CubeTensor,
    candidates: CubeTensor,
    /// Weight matrix, with its numbers of rows and columns.
    matrix: Option<(CubeTensor, [usize; 2])>,
    /// Keys of rows, and their number.
    keys: Option<(CubeTensor, usize)>,
    comparison: &'l Comparison,
}

impl<'l> PairKernels<'l> {
    /// `None` for types other than `f32`, and for matrices of more than [`MOST_ENTRIES`].
    pub(super) fn of(
        [anchors, candidates]: [&CubeTensor; 2],
        weights: &PairWeights<CubeBackend>,
        comparison: &'l Comparison,
    ) -> Option<Self> {
        let contiguous_f32 = |of: &CubeTensor| (of.dtype == DType::F32).then(|| into_contiguous(of.clone()));
        let (anchors, candidates) = (contiguous_f32(anchors)?, contiguous_f32(candidates)?);
        let mut kernels = Self { anchors, candidates, matrix: None, keys: None, comparison };
        match weights {
            PairWeights::Ones => {}
            PairWeights::Groups(groups) => {
                let keys = into_contiguous(CubeBackend::int_cast(groups.clone(), IntDType::I32));
                let [count] = keys.shape().dims();
                kernels.keys = Some((keys, count));
            }
            PairWeights::Pairs(matrix) | PairWeights::Samples(matrix) => {
                if matrix.shape().num_elements() > MOST_ENTRIES {
                    return None;
                }
                kernels.matrix = Some((contiguous_f32(matrix)?, matrix.shape().dims()));
            }
            PairWeights::Factors { left, right, samples } => {
                let (left, right) = (contiguous_f32(left)?, contiguous_f32(right)?);
                let shape = [left.shape()[0], *samples];
                if shape[0].saturating_mul(shape[1]) > MOST_ENTRIES {
                    return None;
                }
                let out = kernels.empty(shape);
                for first in (0..shape[0]).step_by(*samples) {
                    let tile = ProductTileLaunch {
                        scale: 1.0,
                        a_first: first,
                        b_first: first,
                        out_first: first,
                        rows: *samples,
                        columns: *samples,
                    };
                    inner(&left, &right, &out, tile);
                }
                kernels.matrix = Some((out, shape));
            }
        }
        Some(kernels)
    }

    fn shape(&self) -> [usize; 3] {
        let ([n, width], [m, _]) = (self.anchors.shape().dims(), self.candidates.shape().dims());
        [n, m, width]
    }

    /// A tensor without initial values.
    pub(super) fn empty(&self, shape: [usize; 2]) -> CubeTensor {
        empty(&self.anchors, shape, DType::F32)
    }

    fn zeros(&self, shape: [usize; 2]) -> CubeTensor {
        let like = &self.anchors;
        CubeBackend::float_zeros(Shape::new(shape), &like.device, FloatDType::F32)
    }

    /// Number of anchors whose logits are stored at once.
    fn round(&self) -> usize {
        let [n, m, _] = self.shape();
        if self.comparison.stores(n, m) {
            return n.max(1);
        }
        let most = ((ROUND / m.max(1) / ROWS).max(1) * ROWS).min(ROUND_ANCHORS);
        self.comparison.tile.map_or(most, |tile| tile.clamp(1, most))
    }

    /// The logits of some anchors.
    fn logits(&self, first: usize, rows: usize) -> CubeTensor {
        let [_, m, _] = self.shape();
        let out = self.empty([rows, m]);
        let tile = ProductTileLaunch {
            scale: self.comparison.scale as f32,
            a_first: first,
            b_first: 0,
            out_first: 0,
            rows,
            columns: m,
        };
        inner(&self.anchors, &self.candidates, &out, tile);
        out
    }

    pub(super) fn sums(&self) -> (CubeTensor, CubeTensor) {
        let [n, m, _] = self.shape();
        let terms = self.comparison.terms.len();
        let sums = self.empty([n, terms]);
        let mut all_logits = None;
        for first in (0..n).step_by(self.round()) {
            let rows = self.round().min(n - first);
            let logits = self.logits(first, rows);
            for (at, term) in self.comparison.terms.iter().enumerate() {
                let (pairs, matrix, keys) = self.counted(term, &logits);
                // SAFETY: a cube has one row of logits and its result; a unit reads that row, and weights modulo
                // their size.
                #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
                unsafe {
                    pair_sums::launch_unchecked(
                        &self.anchors.client,
                        CubeCount::Static(rows as u32, 1, 1),
                        CubeDim::new_1d(UNITS as u32),
                        logits.clone().into_tensor_arg(),
                        matrix.into_tensor_arg(),
                        keys.into_tensor_arg(),
                        sums.clone().into_tensor_arg(),
                        pairs,
                        TermLaunch { power: term.power as f32, at, terms },
                        AnchorTileLaunch { first, anchors: rows, candidates: m },
                    );
                }
            }
            all_logits = self.comparison.stores(n, m).then_some(logits);
        }
        let all_logits = all_logits.unwrap_or_else(|| self.empty(self.comparison.stored_shape(n, m)));
        (sums, all_logits)
    }

    /// The gradients of anchors and candidates; both in one tensor if they are the same rows.
    pub(super) fn gradients(
        &self,
        all_logits: CubeTensor,
        sums: CubeTensor,
        gradient: CubeTensor,
        is_within: bool,
    ) -> (CubeTensor, Option<CubeTensor>) {
        let [n, m, width] = self.shape();
        let (sums, gradient) = (into_contiguous(sums), into_contiguous(gradient));
        let grad_anchors = self.empty([n, width]);
        let with_candidates = !is_within && !self.comparison.constant_candidates;
        // The first round writes the gradient of candidates, and without anchors there is none.
        let allocate = if n == 0 { Self::zeros } else { Self::empty };
        let grad_candidates = with_candidates.then(|| allocate(self, [m, width]));
        let all_logits = self.comparison.stores(n, m).then(|| into_contiguous(all_logits));
        for first in (0..n).step_by(self.round()) {
            let rows = self.round().min(n - first);
            let logits = all_logits.clone().unwrap_or_else(|| self.logits(first, rows));
            let grad_weights = self.grad_weights(&logits, [&sums, &gradient], [first, rows], is_within);
            self.write_grad_anchors(&grad_weights, [first, rows], &grad_anchors);
            if let Some(grad_candidates) = &grad_candidates {
                self.add_grad_candidates(&grad_weights, [first, rows], grad_candidates);
            }
        }
        (grad_anchors, grad_candidates)
    }

    /// The derivatives of some anchors with respect to the inner products.
    fn grad_weights(
        &self,
        logits: &CubeTensor,
        [sums, gradient]: [&CubeTensor; 2],
        [first, rows]: [usize; 2],
        is_within: bool,
    ) -> CubeTensor {
        let [_, m, _] = self.shape();
        let terms = self.comparison.terms.len();
        let out = self.empty([rows, m]);
        let (cubes, units) = one_each(&out, rows * m);
        // A term without power has no gradient; if there is no other term, its factor of 0 makes the result 0.
        let has_power = |term: &LogSumExp| term.power != 0.0;
        let none = !self.comparison.terms.iter().any(has_power);
        let moving = self.comparison.terms.iter().enumerate();
        let moving = moving.filter(|(at, term)| has_power(term) || none && *at == 0);
        for (k, (at, term)) in moving.enumerate() {
            let (pairs, matrix, keys) = self.counted(term, logits);
            // SAFETY: units outside of the logits return at once; weights are read modulo their size.
            #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
            unsafe {
                grad_weights::launch_unchecked(
                    &self.anchors.client,
                    cubes.clone(),
                    units,
                    logits.clone().into_tensor_arg(),
                    matrix.into_tensor_arg(),
                    keys.into_tensor_arg(),
                    sums.clone().into_tensor_arg(),
                    gradient.clone().into_tensor_arg(),
                    out.clone().into_tensor_arg(),
                    (term.power * self.comparison.scale) as f32,
                    pairs,
                    TermLaunch { power: term.power as f32, at, terms },
                    AnchorTileLaunch { first, anchors: rows, candidates: m },
                    is_within,
                    k > 0,
                );
            }
        }
        out
    }

    /// The gradient of some anchors: the products of their derivatives with candidates.
    fn write_grad_anchors(
        &self,
        grad_weights: &CubeTensor,
        [first, rows]: [usize; 2],
        grad_anchors: &CubeTensor,
    ) {
        let [_, m, width] = self.shape();
        let (step, lanes) = (lanes(m), lanes(width));
        let vectors = width / lanes;
        // SAFETY: units outside of the results return at once, and rows past the last are read as the first of
        // their block.
        #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
        unsafe {
            by_rows::launch_unchecked(
                &self.anchors.client,
                grid(vectors, rows.div_ceil(ROWS)),
                CubeDim::new_2d(16, 4),
                step,
                lanes,
                grad_weights.clone().into_tensor_arg(),
                self.candidates.clone().into_tensor_arg(),
                grad_anchors.clone().into_tensor_arg(),
                first,
                rows,
                m / step,
                vectors,
                step,
            );
        }
    }

    /// Adds the products of the derivatives of some anchors with these; the first anchors' are written.
    fn add_grad_candidates(
        &self,
        grad_weights: &CubeTensor,
        [first, rows]: [usize; 2],
        grad_candidates: &CubeTensor,
    ) {
        let [_, m, width] = self.shape();
        let (step, lanes) = (lanes(m), lanes(width));
        let vectors = width / lanes;
        // Two vectors of columns in a unit read the anchors half as often.
        let blocks = if (m / step).is_multiple_of(2) { 2 } else { 1 };
        let units = m / step / blocks;
        for first_unit in (0..units).step_by(MOST_UNITS) {
            // SAFETY: units outside of the results return at once, and `blocks` vectors of columns divide theirs.
            #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
            unsafe {
                by_columns::launch_unchecked(
                    &self.anchors.client,
                    grid(vectors, MOST_UNITS.min(units - first_unit)),
                    CubeDim::new_2d(16, 4),
                    step,
                    lanes,
                    grad_weights.clone().into_tensor_arg(),
                    self.anchors.clone().into_tensor_arg(),
                    grad_candidates.clone().into_tensor_arg(),
                    first,
                    first_unit,
                    rows,
                    m / step,
                    vectors,
                    step,
                    blocks,
                    first > 0,
                );
            }
        }
    }

    /// The pairs of a term as arguments of the kernels: their rule, the weight matrix and the keys. `unread` is a placeholder for
    /// tensors that the kernels do not read.
    fn counted(&self, term: &LogSumExp, unread: &CubeTensor) -> (PairRuleLaunch, CubeTensor, CubeTensor) {
        let bound = term.weight.bound().zip(self.matrix.as_ref());
        let keys = self.keys.as_ref().filter(|_| matches!(term.pairs, Pairs::SameLabel | Pairs::OtherLabel));
        let rule = Rule {
            is_partial: term.pairs != Pairs::All,
            is_same_label: term.pairs == Pairs::SameLabel,
            has_keys: keys.is_some(),
            is_weighted: bound.is_some(),
        };
        let period = match term.pairs {
            Pairs::NotCongruent { period } => period.max(1),
            // Each row is its own group.
            _ => i32::MAX as usize,
        };
        let (sign, threshold) = bound.map_or((1.0, 0.0), |(bound, _)| bound);
        let [rows, columns] = bound.map_or([1, 1], |(_, (_, shape))| *shape);
        let pairs = PairRuleLaunch {
            sign: sign as f32,
            threshold: threshold as f32,
            modulus: keys.map_or(period, |(_, count)| *count),
            rows,
            columns,
            rule,
        };
        let matrix = bound.map_or(unread, |(_, (matrix, _))| matrix).clone();
        let keys = keys.map_or(unread, |(keys, _)| keys).clone();
        (pairs, matrix, keys)
    }
}

/// Workgroups of 16 units across and 4 along, for so many units.
fn grid(across: usize, along: usize) -> CubeCount {
    CubeCount::Static(across.div_ceil(16) as u32, along.div_ceil(4) as u32, 1)
}

/// Launches [`inner_products`] of rows of `a` and `b`.
fn inner(a: &CubeTensor, b: &CubeTensor, out: &CubeTensor, tile: ProductTileLaunch) {
    let [_, width] = a.shape().dims();
    let lanes = lanes(width);
    // SAFETY: units outside of the results return at once, and rows past the last are read as the first of their
    // block.
    #[allow(unsafe_code, reason = "bounds checks cost as much as the arithmetic")]
    unsafe {
        inner_products::launch_unchecked(
            &a.client,
            grid(tile.columns.div_ceil(COLUMNS), tile.rows.div_ceil(ROWS)),
            CubeDim::new_2d(16, 4),
            lanes,
            a.clone().into_tensor_arg(),
            b.clone().into_tensor_arg(),
            out.clone().into_tensor_arg(),
            tile,
            width / lanes,
        );
    }
}
