//! MoCo: queries are compared with the key of their own sample, and with a queue of keys of earlier samples.
//!
//! ```text
//! L = 1/b sum_i [ log( exp s(q_i, k_i) + sum_n exp s(q_i, m_n) ) - s(q_i, k_i) ]
//! s(x, y) = <x, y> / temperature
//! ```
//!
//! with the queries `view_a` `q`, `[b, d]`, the keys `view_b` `k`, `[b, d]`, of the momentum encoder, both
//! normalised here, and the `queue` `m`, `[K, d]`, whose rows are unit-length keys of a [`KeyQueue`](crate::algorithm::KeyQueue). Only the
//! queries get a gradient. The keys of the batch are no negatives of each other; they enter the queue after the
//! step. He et al., *Momentum Contrast for Unsupervised Visual Representation Learning* (2020), eq. 1.
//!
//! Paper and released code agree. Defaults as published: temperature 0.07 (0.2 in
//! MoCo v2), a queue of 65,536 rows, a momentum of 0.999. Use it if a batch is too small for
//! negatives. Defined for every batch and queue of at least one row.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use simile_kernels::gemm;

use super::bank::against_bank;
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{Described, Family, Input, InputNetworks, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// MoCo; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `queue`, `[K, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MoCo {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
}

impl Default for MoCo {
    fn default() -> Self {
        Self { temperature: 0.07 }
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
        algorithms: &["moco"],
        directed: true,
        parameters: &[Parameter::temperature(0.07)],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for MoCo {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let (queries, keys) = (views.a.rows(), views.b.rows());
        let queue = batch.tensor(self.name(), "queue")?;
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
        evaluation.with_details(batch, |evaluation| {
            let first = queries.slice(0..1) / self.temperature;
            let candidates = Tensor::cat(vec![keys.slice(0..1), queue], 0);
            let logits = gemm(first, candidates.transpose()).squeeze_dim(0);
            Ok(evaluation.with_aux("logits_row0", Aux::Vector(logits)))
        })
    }
}
