//! Log-sum-exps over pairs of rows, the reductions behind contrastive losses.

pub(crate) mod plain;

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, Dispatch, ExtensionType, TensorMetadata, backend_extension};
use burn::tensor::{Int, Tensor};

use self::plain::{GradientInputs, plain_own_pair_sums_backward, plain_pair_sums, plain_pair_sums_backward};
use super::gemm::GemmOps;
use super::shapes::check;
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
    /// modulo `c`. Each of the `v` matrices is symmetric, and the number of candidates is a multiple of `c`.
    Samples(FloatTensor<B>),
    /// As [`Samples`](Self::Samples), except for the diagonals, as products `L R^T` of factors, `[v c, k]` both.
    /// Terms must leave out the diagonals. The products of a tile are in memory at once, but on CubeCL in `f32` all `v c^2`, in the
    /// forward and in the backward pass, unless they are more than 2^32.
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

    /// True if these are weights of pairs of so many anchors and candidates.
    fn fit(&self, [n, m]: [usize; 2]) -> bool {
        // Bodies repeat the columns of the samples until there is one for each candidate.
        let are_of_views = |rows: usize, samples: usize| {
            rows > 0 && rows.is_multiple_of(samples) && m.is_multiple_of(samples)
        };
        match self {
            Self::Ones => true,
            Self::Groups(groups) => groups.shape().num_elements() > 0,
            Self::Pairs(matrix) => matrix.shape().dims::<2>() == [n, m],
            Self::Samples(matrix) => {
                let [rows, samples] = matrix.shape().dims();
                are_of_views(rows, samples)
            }
            Self::Factors { left, right, samples } => {
                right.shape() == left.shape() && are_of_views(left.shape()[0], *samples)
            }
        }
    }

    /// The kind and the shape of the weights, for messages.
    fn described(&self) -> String {
        match self {
            Self::Ones => "no weights".to_owned(),
            Self::Groups(groups) => format!("groups {:?}", groups.shape().as_slice()),
            Self::Pairs(matrix) => format!("weights of pairs {:?}", matrix.shape().as_slice()),
            Self::Samples(matrix) => format!("weights of samples {:?}", matrix.shape().as_slice()),
            Self::Factors { left, right, samples } => {
                let [left, right] = [left, right].map(|factor| factor.shape());
                format!("factors {:?} and {:?} of {samples} samples", left.as_slice(), right.as_slice())
            }
        }
    }
}

/// Panics unless anchors, candidates and weights fit each other.
#[track_caller]
fn check_pairs(anchors: &Tensor<2>, candidates: &Tensor<2>, weights: &PairWeights<Dispatch>) {
    let (a, c) = (anchors.dims(), candidates.dims());
    check("PairSums", a[1] == c[1] && weights.fit([a[0], c[0]]), || {
        format!("Anchors {a:?}, candidates {c:?} and {} do not fit each other.", weights.described())
    });
}

/// Log-sum-exps over pairs that backends implement; bodies check no shapes, [`PairSums`] does.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait PairOps: GemmOps {
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
        plain_pair_sums::<Self>(&anchors, &candidates, &weights, &comparison)
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
        let inputs = GradientInputs { similarities: saved, sums, gradient };
        plain_pair_sums_backward::<Self>(&anchors, &candidates, &weights, &inputs, &comparison)
    }

    /// [`pair_sums`](Self::pair_sums) of rows `[n, d]` over the same rows.
    #[fusion(meta = |rows, _weights, comparison| fused::sums(rows, rows, comparison))]
    fn own_pair_sums(
        rows: FloatTensor<Self>,
        #[extension_type] weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        Self::pair_sums(rows.clone(), rows, weights, comparison)
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
        let inputs = GradientInputs { similarities: saved, sums, gradient };
        plain_own_pair_sums_backward::<Self>(&rows, &weights, &inputs, &comparison)
    }
}

/// Shapes of results, for fusion.
#[cfg(feature = "fusion")]
mod fused {
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    use crate::pair_terms::Comparison;

    pub(super) fn sums(
        anchors: &TensorSpec,
        candidates: &TensorSpec,
        comparison: &Comparison,
    ) -> (TensorSpec, TensorSpec) {
        let (n, m) = (anchors.shape[0], candidates.shape[0]);
        let of = |shape: [usize; 2]| TensorSpec::new(Shape::new(shape), anchors.dtype);
        (of([n, comparison.terms.len()]), of(comparison.stored_shape(n, m)))
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
    /// each, unless the comparison's tile is smaller than the anchors; the CPU stores none.
    ///
    /// # Panics
    /// The rows differ in width, or the weights are not those of their pairs.
    pub fn across(
        anchors: Tensor<2>,
        candidates: Tensor<2>,
        weights: PairWeights<Dispatch>,
        comparison: Comparison,
    ) -> Self {
        check_pairs(&anchors, &candidates, &weights);
        let (a, c) = (anchors.clone().into_dispatch(), candidates.clone().into_dispatch());
        let (values, saved) = <Dispatch as PairOps>::pair_sums(a, c, weights.clone(), comparison.clone());
        let (values, saved) = (Tensor::from_dispatch(values), Tensor::from_dispatch(saved));
        Self { anchors, candidates: Some(candidates), weights, comparison, values, saved }
    }

    /// The sums of rows `[n, d]` over the same rows.
    ///
    /// Cost: as [`across`](Self::across) with `m = n`; half of that on the CPU if the terms are symmetric in the rows.
    ///
    /// # Panics
    /// The weights are not those of pairs of the rows.
    pub fn within(rows: Tensor<2>, weights: PairWeights<Dispatch>, comparison: Comparison) -> Self {
        check_pairs(&rows, &rows, &weights);
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
    ///
    /// # Panics
    /// The gradient has not the shape of the sums.
    pub fn pull_back(self, gradient: Tensor<2>) -> (Tensor<2>, Option<Tensor<2>>) {
        let Self { anchors, candidates, weights, comparison, values, saved } = self;
        let (of_sums, given) = (values.dims(), gradient.dims());
        check("PairSums::pull_back", given == of_sums, || {
            format!("The gradient must have the shape of the sums: {of_sums:?}, not {given:?}.")
        });
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
/// over `n m` numbers for each term and direction. Up to 16 Mi similarities are stored for the backward pass; more, and those of
/// tiles, are computed again. The CPU stores none and computes them again, `2 n m d`, in tiles that stay in its cache.
///
/// # Panics
/// As [`PairSums::across`].
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
///
/// # Panics
/// As [`PairSums::within`].
pub fn own_log_sum_exps(
    rows: Tensor<2>,
    weights: PairWeights<Dispatch>,
    comparison: Comparison,
) -> Tensor<2> {
    PairSums::within(rows, weights, comparison).values
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn zeros(shape: [usize; 2]) -> Tensor<2> {
        Tensor::zeros(shape, &Device::flex())
    }

    /// A loop that checks no bounds would read or write past the end.
    #[test]
    fn weights_of_other_pairs_do_not_fit() {
        let groups = |count: usize| PairWeights::groups(Tensor::zeros([count], &Device::flex()));
        let factors =
            |left: [usize; 2], right, samples| PairWeights::factors(zeros(left), zeros(right), samples);
        assert!(PairWeights::Ones.fit([6, 9]));
        assert!(groups(3).fit([6, 6]) && !groups(0).fit([6, 6]));
        assert!(PairWeights::pairs(zeros([6, 9])).fit([6, 9]));
        assert!(!PairWeights::pairs(zeros([6, 8])).fit([6, 9]), "weights of 8 of 9 candidates");
        assert!(!PairWeights::pairs(zeros([5, 9])).fit([6, 9]), "weights of 5 of 6 anchors");
        assert!(PairWeights::samples(zeros([6, 3])).fit([6, 6]));
        for shape in [[0, 3], [3, 0], [5, 3]] {
            assert!(!PairWeights::samples(zeros(shape)).fit([6, 6]), "{shape:?}");
        }
        assert!(factors([6, 2], [6, 2], 3).fit([6, 6]));
        for candidates in [7, 2] {
            assert!(!PairWeights::samples(zeros([6, 3])).fit([6, candidates]), "{candidates} candidates");
            assert!(!factors([6, 2], [6, 2], 3).fit([6, candidates]), "{candidates} candidates");
        }
        for (left, right, samples) in
            [([5, 2], [5, 2], 3), ([6, 2], [6, 1], 3), ([6, 2], [6, 2], 0), ([0, 2], [0, 2], 3)]
        {
            assert!(!factors(left, right, samples).fit([6, 6]), "{left:?} {right:?} {samples}");
        }
    }
}
