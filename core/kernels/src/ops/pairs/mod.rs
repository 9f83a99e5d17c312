//! Log-sum-exps over pairs of rows, the reductions behind contrastive losses.

pub(crate) mod plain;

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, Dispatch, ExtensionType, backend_extension};
use burn::tensor::{Int, Tensor};

pub use crate::pair_terms::{Comparison, EMPTY, LogSumExp, Pairs, Weight, similarities_at_once, tile_rows};

/// The weights of a comparison: groups of rows, or weights of pairs. Constants, without a gradient.
#[derive(ExtensionType, Debug, Clone)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub enum PairWeights<B: Backend> {
    /// All weights are 1, and each row is its own group.
    Ones,
    /// The group of each row, `[rows]`, of anchors and of candidates.
    Groups(IntTensor<B>),
    /// A weight for each pair, `[anchors, candidates]`.
    Pairs(FloatTensor<B>),
    /// Weights of the pairs of `c` samples, `[v c, c]`: anchor `i` has row `i` modulo `v c`, candidate `j` has column `j`
    /// modulo `c`. Each of the `v` matrices is symmetric.
    Samples(FloatTensor<B>),
    /// As [`Samples`](Self::Samples), except for the diagonals, as products `L R^T` of factors, `[v c, k]` both.
    /// Terms must leave out the diagonals.
    Factors {
        /// `L`.
        left: FloatTensor<B>,
        /// `R`.
        right: FloatTensor<B>,
        /// `c`.
        samples: usize,
    },
}

impl PairWeights<Dispatch> {
    /// [`PairWeights::Groups`].
    pub fn groups(groups: Tensor<1, Int>) -> Self {
        Self::Groups(groups.into_dispatch())
    }

    /// [`PairWeights::Pairs`].
    pub fn pairs(weights: Tensor<2>) -> Self {
        Self::Pairs(weights.into_dispatch())
    }

    /// [`PairWeights::Samples`].
    pub fn samples(weights: Tensor<2>) -> Self {
        Self::Samples(weights.into_dispatch())
    }

    /// [`PairWeights::Factors`].
    pub fn factors(left: Tensor<2>, right: Tensor<2>, samples: usize) -> Self {
        Self::Factors { left: left.into_dispatch(), right: right.into_dispatch(), samples }
    }
}

/// Log-sum-exps over pairs that backends implement.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
pub trait PairOps: Backend {
    /// The sums of anchors `[n, d]` over candidates `[m, d]`, `[n, terms]`, and what the body saves for the
    /// backward pass: similarities, divisors of the gradient, or nothing.
    #[fusion(meta = |anchors, candidates, _weights, comparison| {
        fused::sums(anchors, candidates, comparison)
    })]
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        #[extension_type] weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        plain::sums::<Self>(&anchors, &candidates, &weights, &comparison)
    }

    /// The gradients of anchors and candidates for the gradient `[n, terms]` of the sums; that of constant candidates is a
    /// single 0.
    #[fusion(meta = |anchors, candidates, _weights, _saved, _sums, _gradient, comparison| {
        fused::gradients(anchors, candidates, comparison)
    })]
    fn pair_sums_backward(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        #[extension_type] weights: PairWeights<Self>,
        saved: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let inputs = plain::GradientInputs { similarities: saved, sums, gradient };
        plain::gradients::<Self>(&anchors, &candidates, &weights, &inputs, &comparison)
    }

    /// [`pair_sums`](Self::pair_sums) of rows `[n, d]` over the same rows.
    #[fusion(meta = |rows, _weights, comparison| fused::sums(rows, rows, comparison))]
    fn own_pair_sums(
        rows: FloatTensor<Self>,
        #[extension_type] weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        plain::sums::<Self>(&rows, &rows, &weights, &comparison)
    }

    /// The gradient of rows that are anchors and candidates.
    #[fusion(dtype = rows, shape = rows)]
    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        #[extension_type] weights: PairWeights<Self>,
        saved: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        let inputs = plain::GradientInputs { similarities: saved, sums, gradient };
        plain::own_gradient::<Self>(&rows, &weights, &inputs, &comparison)
    }
}

/// Shapes of results, for fusion.
#[cfg(feature = "fusion")]
mod fused {
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    use crate::pair_terms::{Comparison, stored_shape};

    pub(super) fn sums(
        anchors: &TensorSpec,
        candidates: &TensorSpec,
        comparison: &Comparison,
    ) -> (TensorSpec, TensorSpec) {
        let (n, m) = (anchors.shape[0], candidates.shape[0]);
        let of = |shape: [usize; 2]| TensorSpec::new(Shape::new(shape), anchors.dtype);
        (of([n, comparison.terms.len()]), of(stored_shape(n, m)))
    }

    pub(super) fn gradients(
        anchors: &TensorSpec,
        candidates: &TensorSpec,
        comparison: &Comparison,
    ) -> (TensorSpec, TensorSpec) {
        let constant = TensorSpec::new(Shape::new([1, 1]), candidates.dtype);
        (anchors.clone(), if comparison.constant_candidates { constant } else { candidates.clone() })
    }
}

/// The sums of a comparison and the data to differentiate them, for programs that derive gradients by hand.
/// Programs that use autodiff call [`log_sum_exps`] and [`own_log_sum_exps`].
#[derive(Debug, Clone)]
pub struct PairSums {
    anchors: Tensor<2>,
    /// `None` if they are the anchors.
    candidates: Option<Tensor<2>>,
    weights: PairWeights<Dispatch>,
    comparison: Comparison,
    values: Tensor<2>,
    saved: Tensor<2>,
}

impl PairSums {
    /// The sums of anchors `[n, d]` over candidates `[m, d]`.
    ///
    /// Cost: `2 n m d` operations, and a pass over `n m` numbers for each term. Up to 16 Mi similarities are stored, 4 bytes
    /// each; the CPU stores none.
    pub fn across(
        anchors: Tensor<2>,
        candidates: Tensor<2>,
        weights: PairWeights<Dispatch>,
        comparison: Comparison,
    ) -> Self {
        let (a, c) = (anchors.clone().into_dispatch(), candidates.clone().into_dispatch());
        let (values, saved) = <Dispatch as PairOps>::pair_sums(a, c, weights.clone(), comparison.clone());
        let (values, saved) = (Tensor::from_dispatch(values), Tensor::from_dispatch(saved));
        Self { anchors, candidates: Some(candidates), weights, comparison, values, saved }
    }

    /// The sums of rows `[n, d]` over the same rows.
    ///
    /// Cost: as [`across`](Self::across) with `m = n`; half of that on the CPU if the terms are symmetric in the rows.
    pub fn within(rows: Tensor<2>, weights: PairWeights<Dispatch>, comparison: Comparison) -> Self {
        let (a, of) = (rows.clone().into_dispatch(), comparison.clone());
        let (values, saved) = <Dispatch as PairOps>::own_pair_sums(a, weights.clone(), of);
        let (values, saved) = (Tensor::from_dispatch(values), Tensor::from_dispatch(saved));
        Self { anchors: rows, candidates: None, weights, comparison, values, saved }
    }

    /// The sums, `[n, terms]`; [`EMPTY`] if an anchor has no pair. They are computed already: this costs nothing.
    pub fn values(&self) -> Tensor<2> {
        self.values.clone()
    }

    /// The gradients of anchors and candidates for the gradient `[n, terms]` of the sums. Candidates that are
    /// constant, or equal to the anchors, have no separate gradient.
    ///
    /// Cost: `4 n m d` operations, or `2 n m d` if candidates are constant, a pass over `n m` numbers for each term, and
    /// `2 n m d` operations more where the similarities are not stored. The CPU takes `3 n^2 d` in all for rows over the
    /// same rows if the terms are symmetric in them.
    pub fn pull_back(self, gradient: Tensor<2>) -> (Tensor<2>, Option<Tensor<2>>) {
        let Self { anchors, candidates, weights, comparison, values, saved } = self;
        let (anchors, saved) = (anchors.into_dispatch(), saved.into_dispatch());
        let (values, gradient) = (values.into_dispatch(), gradient.into_dispatch());
        let Some(candidates) = candidates else {
            let grad_rows = <Dispatch as PairOps>::own_pair_sums_backward(
                anchors, weights, saved, values, gradient, comparison,
            );
            return (Tensor::from_dispatch(grad_rows), None);
        };
        let is_constant = comparison.constant_candidates;
        let (grad_anchors, grad_candidates) = <Dispatch as PairOps>::pair_sums_backward(
            anchors,
            candidates.into_dispatch(),
            weights,
            saved,
            values,
            gradient,
            comparison,
        );
        (Tensor::from_dispatch(grad_anchors), (!is_constant).then(|| Tensor::from_dispatch(grad_candidates)))
    }
}

/// For anchors `[n, d]`, candidates `[m, d]` and `s_ij = scale <a_i, c_j>`, with `scale` above 0, the sums
///
/// ```text
/// log sum_j W_ij exp(power * s_ij)
/// ```
///
/// of each [`LogSumExp`], `[n, terms]`; [`EMPTY`] with gradient 0 for an anchor without a pair of positive weight, but in `f16`, whose
/// range does not hold it. There is at least one anchor and one candidate.
///
/// Costs `2 n m d` operations for the similarities, which all terms share, `4 n m d` for both gradients, and a pass
/// over `n m` numbers for each term and direction. Up to 16 Mi similarities are stored for the backward pass, more
/// are computed again. The CPU stores none and computes them again, `2 n m d`, in tiles that stay in its cache.
pub fn log_sum_exps(
    anchors: Tensor<2>,
    candidates: Tensor<2>,
    weights: PairWeights<Dispatch>,
    comparison: Comparison,
) -> Tensor<2> {
    PairSums::across(anchors, candidates, weights, comparison).values
}

/// [`log_sum_exps`] of rows `[n, d]` over the same rows. The CPU computes half of the similarities if the terms are
/// symmetric in the rows, and stores none: `n^2 d` operations for sums and `3 n^2 d` for the gradient, instead of
/// 2 and 6. Its gradient then has the reciprocals of sums relative to the largest possible term: in `f32` it is not finite for a row
/// whose weights are all near the smallest numbers, such as below 1e-33 at `scale` 10.
pub fn own_log_sum_exps(
    rows: Tensor<2>,
    weights: PairWeights<Dispatch>,
    comparison: Comparison,
) -> Tensor<2> {
    PairSums::within(rows, weights, comparison).values
}
