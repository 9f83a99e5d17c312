//! MoCo: queries are compared with the key of their own sample, and with a queue of keys of earlier samples.
//!
//! ```text
//! L = 1/b sum_i [ log( exp s(q_i, k_i) + sum_n exp s(q_i, m_n) ) - s(q_i, k_i) ]
//! s(x, y) = <x, y> / temperature
//! ```
//!
//! with the queries `view_a` `q`, `[b, d]`, the keys `view_b` `k`, `[b, d]`, of the momentum encoder, both
//! normalised here, and the `queue` `m`, `[K, d]`, whose rows are unit-length keys of a [`KeyQueue`]. Only the
//! queries get a gradient. The keys of the batch are no negatives of each other; they enter the queue after the
//! step. He et al., *Momentum Contrast for Unsupervised Visual Representation Learning* (2020), eq. 1.
//!
//! Paper and released code agree. Defaults as published: temperature 0.07 (0.2 in
//! MoCo v2), a queue of 65,536 (`K`, checked if given), a momentum of 0.999. Use it if a batch is too small for
//! negatives. Defined for every batch and queue of at least one row.

use burn::tensor::{IndexingUpdateOp, Tensor};
use serde::{Deserialize, Serialize};
use simile_kernels::product;

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::pairwise::{LogSumExp, PairwiseLoss, PairwiseResult, Positives, log_add};
use crate::loss::spec::{Described, Family, Input, InputNetworks, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;
use crate::numeric::matrix::indices;
use crate::numeric::unit_rows::UnitRows;

/// MoCo; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `queue`, `[K, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MoCo {
    /// Divisor of the cosines.
    pub temperature: f64,
    /// Rows of the queue, checked if given.
    #[serde(rename = "K")]
    pub queue_size: Option<usize>,
}

impl Default for MoCo {
    fn default() -> Self {
        Self { temperature: 0.07, queue_size: None }
    }
}

impl Described for MoCo {
    const SPEC: Spec = Spec {
        name: "moco",
        title: "MoCo",
        family: Family::Representation,
        summary: "a queue of keys of earlier samples",
        work: "He et al., Momentum Contrast for Unsupervised Visual Representation Learning, 2020, eq. 1",
        formula: "L = 1/b sum_i [ log( exp s(q_i, k_i) + sum_n exp s(q_i, m_n) ) - s(q_i, k_i) ]\n\
            s(x, y) = <x, y> / temperature",
        symbols: "q the queries, k the keys, m the queue",
        inputs: &[
            VIEW_A.meaning("queries, embeddings of the first views"),
            VIEW_B.meaning("keys of the second views by the moving average"),
            Input::rows("queue", "[K, d]", "keys of earlier samples, of length one"),
        ],
        networks: InputNetworks::Averaged,
        methods: &["moco"],
        directed: true,
        parameters: &[
            Parameter::temperature(0.07),
            Parameter::integer("K", [0, u64::MAX], 65_536, "rows of the queue, checked").only_checked(),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for MoCo {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let (queries, keys) = (views.a.rows(), views.b.rows());
        let queue = batch.tensor(self.name(), "queue")?;
        let [size, _] = queue.dims();
        if let Some(expected) = self.queue_size.filter(|&expected| expected != size) {
            return Err(Error::shape("queue", format!("{expected} rows (K)"), format!("{size} rows")));
        }
        let compared = against_bank(
            queries.clone(),
            keys.clone(),
            ("queue", queue.clone()),
            self.temperature,
            batch.tile(),
        )?;
        let mean = 1.0 / views.size as f64;
        let evaluation = Evaluation::new(compared.per_anchor.sum() * mean)
            .with_gradient("view_a", views.a.pull_back(compared.grad_anchors * mean));
        Ok(if batch.is_detailed() {
            let first = queries.slice(0..1) / self.temperature;
            let candidates = Tensor::cat(vec![keys.slice(0..1), queue], 0);
            let logits = product(first, candidates.transpose()).squeeze_dim(0);
            evaluation.with_aux("logits_row0", Aux::Vector(logits))
        } else {
            evaluation
        })
    }
}

/// InfoNCE of each anchor with one positive row and a named bank of negatives; neither gets a gradient.
pub(crate) fn against_bank(
    anchors: Tensor<2>,
    positives: Tensor<2>,
    (name, bank): (&str, Tensor<2>),
    temperature: f64,
    tile: Option<usize>,
) -> Result<PairwiseResult> {
    let ([_, width], [size, columns]) = (anchors.dims(), bank.dims());
    if size == 0 || columns != width {
        return Err(Error::shape(name, format!("at least one row of {width}"), format!("{size}x{columns}")));
    }
    PairwiseLoss::new(anchors, bank, temperature, tile)?
        .with_constant_candidates()
        .mean(Positives::Rows(positives))
        .log_sum_exp(LogSumExp::over_all())
        .evaluate(|reductions| {
            let own = reductions.means[0].clone();
            log_add(own.clone(), reductions.sums[0].clone()) - own
        })
}

/// The keys of the latest samples; new keys overwrite the oldest.
#[derive(Debug, Clone)]
pub struct KeyQueue {
    rows: Tensor<2>,
    next: usize,
}

impl KeyQueue {
    /// A queue of rows `[K, d]`, drawn at random before training, which are normalised here.
    ///
    /// # Errors
    /// There is no row.
    pub fn new(rows: Tensor<2>) -> Result<Self> {
        match rows.dims() {
            [0, _] => Err(Error::shape("queue", "at least one row", "none")),
            _ => Ok(Self { rows: UnitRows::normalise(rows).rows(), next: 0 }),
        }
    }

    /// The keys, `[K, d]`, as the input `queue`.
    pub fn rows(&self) -> Tensor<2> {
        self.rows.clone()
    }

    /// Index of the oldest key, the next to be overwritten.
    pub fn oldest(&self) -> usize {
        self.next
    }

    /// A queue of this size with other rows, not normalised; `oldest` is the first to be overwritten.
    pub(crate) fn replaced(&self, rows: Tensor<2>, oldest: usize) -> Self {
        Self { rows, next: oldest % self.rows.dims()[0] }
    }

    /// Overwrites the oldest rows by the keys of a batch, `[b, d]`, which are normalised. Of more than `K`
    /// keys the last `K` stay.
    ///
    /// # Errors
    /// The keys are of another width.
    pub fn push(&mut self, keys: Tensor<2>) -> Result<()> {
        let ([size, width], [b, columns]) = (self.rows.dims(), keys.dims());
        if width != columns {
            return Err(Error::shape("view_b", format!("{width} columns"), format!("{columns} columns")));
        }
        let key_count = b.min(size);
        let keys = UnitRows::normalise(keys.without_autodiff()).rows().slice(b - key_count..b);
        let slots: Vec<usize> = (0..key_count).map(|i| (self.next + i) % size).collect();
        let at = indices(&slots, &keys.device());
        let change = keys - self.rows.clone().select(0, at.clone());
        self.rows = self.rows.clone().select_assign(0, at, change, IndexingUpdateOp::Add);
        self.next = (self.next + key_count) % size;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, read};
    use crate::numeric::matrix::Matrix;

    #[test]
    fn the_oldest_keys_make_room() {
        let axis = |i: usize| Matrix::from_fn(1, 3, |_, j| if i == j { 2.0 } else { 0.0 });
        let mut queue = KeyQueue::new(place(&Matrix::from_fn(3, 3, |_, _| 1.0))).unwrap();
        queue.push(Tensor::cat(vec![place(&axis(0)), place(&axis(1))], 0)).unwrap();
        queue.push(Tensor::cat(vec![place(&axis(2)), place(&axis(2))], 0)).unwrap();
        let rows = read(queue.rows());
        let nearest: Vec<usize> =
            rows.iter_rows().map(|row| row.iter().position(|&v| v > 0.99).unwrap()).collect();
        assert_eq!(nearest, [2, 1, 2]);
        assert!(queue.push(place(&Matrix::zeros(1, 2))).is_err());
    }
}
