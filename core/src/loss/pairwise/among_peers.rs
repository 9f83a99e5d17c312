//! The log-sum-exps of a comparison, `m_i = log sum_j W_ij exp(power * s_ij)`, of all anchors at once or shared by processes.
//!
//! **Shards.** Each process has a shard of the anchors, consecutive rows, and compares it with all candidates: `n m d / ranks` of
//! the work.
//!
//! ```text
//! forward    m_i of its shard                                 gathered: a few numbers an anchor
//! backward   dL/da_i of its shard, 0 for other anchors        summed over the processes
//!            sum_i dL/dm_i dm_i/dc_j, i of its shard          summed over the processes: dL/dc_j
//! ```
//!
//! **Rotation.** Pairs and weights can depend on the indices of rows, for example all pairs but `i, i`, and an operation counts
//! the rows that it gets from 0. A block of anchors that begins with anchor `r` therefore gets the candidates rotated, in the order
//! `r, r + 1, ..., r - 1`: its row `i` and its candidate `i` are the same sample, as in the whole batch. This needs as many
//! candidates as anchors. If the pairs or weights do not allow it, every process evaluates the whole comparison.

use std::ops::Range;
use std::sync::Arc;

use burn::backend::tensor::FloatTensor;
use burn::backend::{Dispatch, TensorMetadata as _};
use burn::tensor::{Int, Tensor, TensorData};
use simile_kernels::{Comparison, LogSumExp, PairSums, Pairs};

use super::PairWeights;
use super::rows::rows_of;
use crate::error::Result;
use crate::peers::{Peers, sum_tensor, to_host};

/// Anchors and candidates, and the sums over their pairs.
pub(super) struct PairProblem {
    pub(super) anchors: Tensor<2>,
    pub(super) candidates: Tensor<2>,
    /// True if the candidates are the anchors.
    pub(super) within: bool,
    pub(super) weights: PairWeights,
    pub(super) comparison: Comparison,
}

/// The sums of all anchors.
pub(super) enum LogSumExps {
    Whole(Box<PairSums>),
    AmongPeers(Box<SumsAmongPeers>),
}

impl LogSumExps {
    /// The sums of anchors over candidates, by one process or several.
    ///
    /// # Errors
    /// A peer cannot be reached, or the device failed.
    pub(super) fn of(problem: PairProblem, peers: Option<Arc<dyn Peers>>) -> Result<Self> {
        if let Some(peers) = peers.filter(|peers| peers.count() > 1)
            && let Some(order) = problem.candidate_order()
        {
            return Ok(Self::AmongPeers(Box::new(SumsAmongPeers::of(problem, order, peers)?)));
        }
        let PairProblem { anchors, candidates, within, weights, comparison } = problem;
        Ok(Self::Whole(Box::new(match within {
            true => PairSums::within(anchors, weights, comparison),
            false => PairSums::across(anchors, candidates, weights, comparison),
        })))
    }

    /// The sums, `[n, terms]`.
    pub(super) fn values(&self) -> Tensor<2> {
        match self {
            Self::Whole(sums) => sums.values(),
            Self::AmongPeers(shared) => shared.values.clone(),
        }
    }

    /// The gradients of anchors and candidates, as [`PairSums::pull_back`].
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn pull_back(self, gradient: Tensor<2>) -> Result<(Tensor<2>, Option<Tensor<2>>)> {
        match self {
            Self::Whole(sums) => Ok(sums.pull_back(gradient)),
            Self::AmongPeers(shared) => shared.pull_back(gradient),
        }
    }
}

/// The order in which a block of anchors gets the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CandidateOrder {
    /// The same for every block, if no index of a row matters.
    Same,
    /// Rotated, beginning with the index of the block's first anchor.
    Rotated,
}

impl PairProblem {
    /// The order of the candidates with which blocks of anchors can be compared separately; `None` if there is none.
    fn candidate_order(&self) -> Option<CandidateOrder> {
        let ([n, _], [m, _]) = (self.anchors.dims(), self.candidates.dims());
        let by_index = self.comparison.terms.iter().any(|LogSumExp { pairs, .. }| *pairs != Pairs::All);
        // Rotated by `r`, candidate `j` is the one of index `r + j` modulo `m`. The same holds modulo a period that divides `m`.
        let divides = |period: usize| period > 0 && m.is_multiple_of(period);
        let terms_allow = self.comparison.terms.iter().all(|term| match term.pairs {
            Pairs::NotCongruent { period } => divides(period),
            Pairs::All | Pairs::SameLabel | Pairs::OtherLabel => true,
        });
        let weights_allow = match &self.weights {
            PairWeights::Ones | PairWeights::Pairs(_) => true,
            PairWeights::Groups(groups) => {
                n == m && divides(Tensor::<1, Int>::from_dispatch(groups.clone()).dims()[0])
            }
            PairWeights::Samples(_) => n == m,
            PairWeights::Factors { samples, .. } => n == m && divides(*samples),
        };
        let order = if n == m { CandidateOrder::Rotated } else { CandidateOrder::Same };
        (weights_allow && terms_allow && (n == m || !by_index)).then_some(order)
    }
}

/// The sums of the anchors of this process, with those of all.
pub(super) struct SumsAmongPeers {
    peers: Arc<dyn Peers>,
    /// The shard of this process; none if there are fewer anchors than processes.
    blocks: Vec<AnchorBlock>,
    /// The sums of all anchors, `[n, terms]`.
    values: Tensor<2>,
    /// Numbers of anchors and candidates, and columns of both.
    shape: [usize; 3],
    within: bool,
    constant_candidates: bool,
}

impl SumsAmongPeers {
    /// The forward pass.
    fn of(problem: PairProblem, order: CandidateOrder, peers: Arc<dyn Peers>) -> Result<Self> {
        let ([n, width], [m, _]) = (problem.anchors.dims(), problem.candidates.dims());
        let shard = |rank: usize| n * rank / peers.count()..n * (rank + 1) / peers.count();
        let blocks: Vec<AnchorBlock> = blocks_of_shard(&problem.weights, shard(peers.rank()))
            .into_iter()
            .map(|rows| AnchorBlock::of(&problem, order, rows))
            .collect();

        let terms = problem.comparison.terms.len();
        let counts: Vec<usize> = (0..peers.count()).map(|rank| shard(rank).len() * terms).collect();
        let mut shard_values = Vec::new();
        for block in &blocks {
            shard_values.extend(to_host(block.sums.values())?);
        }
        let values = TensorData::new(peers.all_gather(&shard_values, &counts)?, [n, terms]);
        let values = Tensor::from_data(values, (&problem.anchors.device(), problem.anchors.dtype()));
        let constant_candidates = problem.comparison.constant_candidates;
        let within = problem.within;
        Ok(Self { peers, blocks, values, shape: [n, m, width], within, constant_candidates })
    }

    /// The backward pass, for the gradient of the sums of all anchors.
    fn pull_back(self, gradient: Tensor<2>) -> Result<(Tensor<2>, Option<Tensor<2>>)> {
        let Self { peers, blocks, values, shape: [n, m, width], within, constant_candidates } = self;
        let (device, dtype) = (values.device(), values.dtype());
        let zeros = |rows: usize| Tensor::<2>::zeros([rows, width], (&device, dtype));
        let mut grad_anchors = zeros(n);
        let mut grad_candidates = (!constant_candidates).then(|| zeros(m));
        for AnchorBlock { rows, first_candidate, sums } in blocks {
            let (grad_anchors_block, grad_candidates_block) =
                sums.pull_back(rows_of(&gradient, rows.clone()));
            grad_anchors = grad_anchors.slice_assign([rows, 0..width], grad_anchors_block);
            // Another rotation, by the rest of a turn, puts candidate 0 first again.
            let grad_candidates_block =
                grad_candidates_block.map(|rotated| rotate(rotated, m - first_candidate, 0));
            grad_candidates = grad_candidates.zip(grad_candidates_block).map(|(sum, block)| sum + block);
        }
        let peers = peers.as_ref();
        Ok(match grad_candidates {
            None => (sum_tensor(peers, grad_anchors)?, None),
            Some(grad_candidates) if within => (sum_tensor(peers, grad_anchors + grad_candidates)?, None),
            Some(grad_candidates) => {
                // One tensor, so that the processes exchange numbers once.
                let both = sum_tensor(peers, Tensor::cat(vec![grad_anchors, grad_candidates], 0))?;
                (rows_of(&both, 0..n), Some(rows_of(&both, n..n + m)))
            }
        })
    }
}

/// Anchors of a shard that one operation compares.
struct AnchorBlock {
    rows: Range<usize>,
    /// The candidate that comes first, if the candidates are rotated; else 0.
    first_candidate: usize,
    sums: PairSums,
}

impl AnchorBlock {
    /// The sums of the anchors `rows` over all candidates.
    fn of(problem: &PairProblem, order: CandidateOrder, rows: Range<usize>) -> Self {
        let first_candidate = if order == CandidateOrder::Rotated { rows.start } else { 0 };
        let [m, _] = problem.candidates.dims();
        let weights = weights_of_block(problem.weights.clone(), &rows, m, first_candidate);
        let anchors = rows_of(&problem.anchors, rows.clone());
        let candidates = rotate(problem.candidates.clone(), first_candidate, 0);
        let sums = PairSums::across(anchors, candidates, weights, problem.comparison.clone());
        Self { rows, first_candidate, sums }
    }
}

/// Divides a shard into blocks. One block is enough, unless each view has factors of its own as weights: then no rotation fits the
/// anchors of two views, so that a block has anchors of one view.
fn blocks_of_shard(weights: &PairWeights, shard: Range<usize>) -> Vec<Range<usize>> {
    let length = match weights {
        PairWeights::Factors { left, samples, .. } if rows_in(left) > *samples => *samples,
        _ => usize::MAX,
    };
    let mut blocks = Vec::new();
    let mut start = shard.start;
    while start < shard.end {
        // Where the view of the first anchor ends, or the shard.
        let end = (start / length + 1).saturating_mul(length).min(shard.end);
        blocks.push(start..end);
        start = end;
    }
    blocks
}

/// The weights of the anchors `rows` for `m` candidates in the order that begins with `first_candidate`. The operation then has
/// anchor `rows.start + i` as row `i`, and candidate `first_candidate + j` modulo `m` as `j`.
fn weights_of_block(
    weights: PairWeights,
    rows: &Range<usize>,
    m: usize,
    first_candidate: usize,
) -> PairWeights {
    match weights {
        PairWeights::Groups(groups) => {
            // The groups of anchors and candidates at once: both begin with the same index.
            let groups = Tensor::<1, Int>::from_dispatch(groups);
            let [count] = groups.dims();
            let start = first_candidate % count.max(1);
            if start == 0 {
                return PairWeights::groups(groups);
            }
            let parts = vec![groups.clone().slice([start..count]), groups.slice([0..start])];
            PairWeights::groups(Tensor::cat(parts, 0))
        }
        PairWeights::Pairs(matrix) => {
            let own = rows_of(&Tensor::<2>::from_dispatch(matrix), rows.clone());
            PairWeights::pairs(rotate(own, first_candidate, 1))
        }
        PairWeights::Samples(matrix) => {
            let matrix = Tensor::<2>::from_dispatch(matrix);
            let [count, samples] = matrix.dims();
            // Anchor `i` has row `i` modulo their number, candidate `j` column `j` modulo theirs.
            let own = rotate(matrix, rows.start, 0);
            let own = Tensor::cat(vec![own; rows.len().div_ceil(count)], 0);
            let own = rows_of(&own, 0..rows.len());
            let repeated = Tensor::cat(vec![own; m / samples.max(1)], 1);
            PairWeights::pairs(rotate(repeated, first_candidate, 1))
        }
        PairWeights::Factors { left, right, samples } => {
            // All anchors of the block are of one view. Its factors, rotated, are those of anchors and candidates.
            let views = (rows_in(&left) / samples).max(1);
            let first_of_view = rows.start / samples % views * samples;
            let rotated_view = |factor: FloatTensor<Dispatch>| {
                let factor = Tensor::<2>::from_dispatch(factor);
                rotate(rows_of(&factor, first_of_view..first_of_view + samples), rows.start, 0)
            };
            PairWeights::factors(rotated_view(left), rotated_view(right), samples)
        }
        PairWeights::Ones => PairWeights::Ones,
    }
}

/// The rows, or columns, of a matrix from `start` on, then those before it.
fn rotate(matrix: Tensor<2>, start: usize, dim: usize) -> Tensor<2> {
    let dims = matrix.dims();
    let (count, start) = (dims[dim], start % dims[dim].max(1));
    if start == 0 {
        return matrix;
    }
    let part = |range: Range<usize>| match dim {
        0 => matrix.clone().slice([range, 0..dims[1]]),
        _ => matrix.clone().slice([0..dims[0], range]),
    };
    Tensor::cat(vec![part(start..count), part(0..start)], dim)
}

/// Number of rows of a matrix.
fn rows_in(matrix: &FloatTensor<Dispatch>) -> usize {
    matrix.shape().dims::<2>()[0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};
    use serde_json::{Value, json};

    use simile_kernels::Weight;

    use super::*;
    use crate::loss;
    use crate::loss::batch::Batch;
    use crate::loss::spec::Spec;
    use crate::numeric::matrix::Matrix;
    use crate::peers::Alone;
    use crate::peers::threads::together;

    fn values(count: usize, step: f64) -> Vec<f32> {
        (0..count).map(|i| (step * (i * i) as f64 + i as f64).sin() as f32).collect()
    }

    /// The loss, and its gradients, of an objective of samples that no number of processes divides.
    fn evaluated(name: &str, variant: Option<&str>, parameters: &Value, peers: Arc<dyn Peers>) -> Vec<f32> {
        const SAMPLES: usize = 13;
        let view = |step| {
            let data = TensorData::new(values(SAMPLES * 9, step), [SAMPLES, 9]);
            Tensor::<2>::from_data(data, (&Device::flex(), DType::F32))
        };
        let labels = |kinds| (0..SAMPLES).map(|i| i % kinds).collect();
        let condition = |step| {
            let values = values(SAMPLES * 2, step).into_iter().map(f64::from).collect();
            Matrix::new(SAMPLES, 2, values).unwrap()
        };
        let batch = Batch::views(view(0.37), view(0.21))
            .with_tensor("view_a_biased", view(0.13))
            .with_tensor("view_b_biased", view(0.17))
            .with_indices("labels", labels(5))
            .with_indices("bias", labels(3))
            .with_condition("z", condition(0.11))
            .with_peers(peers);
        let evaluation = loss::build(name, variant, parameters.clone()).unwrap().evaluate(&batch).unwrap();
        let mut loss_and_gradients = vec![evaluation.loss.into_data().iter::<f32>().next().unwrap()];
        evaluation
            .gradients
            .into_values()
            .for_each(|g| loss_and_gradients.extend(g.into_data().iter::<f32>()));
        loss_and_gradients
    }

    #[test]
    fn a_loss_that_processes_share_by_anchors_is_that_of_one() {
        const GIVEN: [&str; 7] =
            ["view_a", "view_b", "view_a_biased", "view_b_biased", "labels", "bias", "z"];
        let is_given = |spec: &&Spec| spec.required().all(|input| GIVEN.contains(&input.name));
        for spec in loss::specs().filter(is_given) {
            let name = spec.name;
            let forms = spec.variants.iter().map(|form| Some(form.name));
            let symmetric = spec.parameter("symmetric").map(|_| json!({ "symmetric": true }));
            let parameters: Vec<Value> = std::iter::once(json!({})).chain(symmetric).collect();
            let settings = std::iter::once(None)
                .chain(forms)
                .flat_map(|form| parameters.iter().map(move |of| (form, of)));
            for (variant, parameters) in settings {
                let expected = evaluated(name, variant, parameters, Arc::new(Alone));
                for count in [2, 3, 5] {
                    let all = together(count, |peers| evaluated(name, variant, parameters, peers));
                    assert_eq!(all.len(), count, "{name}");
                    for loss_and_gradients in &all {
                        assert_eq!(loss_and_gradients.len(), expected.len());
                        let bits =
                            |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(loss_and_gradients), bits(&all[0]), "{name}");
                        let largest = expected.iter().fold(1e-2_f32, |most, value| most.max(value.abs()));
                        let off = loss_and_gradients
                            .iter()
                            .zip(&expected)
                            .fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
                        assert!(
                            off < 2e-6 * largest,
                            "{name} {variant:?}, {count} processes: {off} of {largest}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_process_compares_its_own_anchors_only() {
        let rows = |count: usize| {
            let data = TensorData::new(values(count * 3, 0.3), [count, 3]);
            Tensor::<2>::from_data(data, (&Device::flex(), DType::F32))
        };
        let own = together(3, |peers| {
            let problem = PairProblem {
                anchors: rows(8),
                candidates: rows(8),
                within: true,
                weights: PairWeights::Ones,
                comparison: Comparison::new([LogSumExp::other_rows(8)], 2.0),
            };
            match LogSumExps::of(problem, Some(peers)).unwrap() {
                LogSumExps::Whole(_) => 0,
                LogSumExps::AmongPeers(shared) => {
                    shared.blocks.iter().map(|block| block.sums.values().dims()[0]).sum()
                }
            }
        });
        assert_eq!(own, [2, 3, 3]);
    }

    /// Weights of each view as a product of factors, or one for both: values and gradients of processes are those of one.
    #[test]
    fn weights_as_products_are_shared() {
        const SAMPLES: usize = 7;
        let matrix = |rows: usize, width: usize, step: f64| {
            let data = TensorData::new(values(rows * width, step), [rows, width]);
            Tensor::<2>::from_data(data, (&Device::flex(), DType::F32))
        };
        let evaluated = |views: usize, peers: Option<Arc<dyn Peers>>| {
            let rows = matrix(2 * SAMPLES, 3, 0.3);
            let factor = matrix(views * SAMPLES, 2, 0.2).square();
            let problem = PairProblem {
                anchors: rows.clone(),
                candidates: rows,
                within: true,
                weights: PairWeights::factors(factor.clone(), factor, SAMPLES),
                comparison: Comparison::new(
                    [LogSumExp::other_samples(SAMPLES).weighted(Weight::Above(0.0))],
                    2.0,
                ),
            };
            let sums = LogSumExps::of(problem, peers).unwrap();
            let is_shared = matches!(sums, LogSumExps::AmongPeers(_));
            let mut sums_and_gradients: Vec<f32> = sums.values().into_data().iter::<f32>().collect();
            let (anchors, candidates) = sums.pull_back(matrix(2 * SAMPLES, 1, 0.7)).unwrap();
            let gradient = candidates.into_iter().fold(anchors, |sum, gradient| sum + gradient);
            sums_and_gradients.extend(gradient.into_data().iter::<f32>());
            (is_shared, sums_and_gradients)
        };
        for views in [1, 2] {
            let (is_shared, expected) = evaluated(views, None);
            assert!(!is_shared && expected.len() == 2 * SAMPLES * 4);
            for count in [2, 3, 5] {
                for (is_shared, sums_and_gradients) in together(count, |peers| evaluated(views, Some(peers)))
                {
                    let off = sums_and_gradients
                        .iter()
                        .zip(&expected)
                        .fold(0.0_f32, |m, (a, b)| m.max((a - b).abs()));
                    assert!(is_shared && off < 1e-5, "{views} views, {count} processes: {off}");
                }
            }
        }
    }
}
