//! WeaklySup-InfoNCE, also called Cl-InfoNCE: samples of one cluster are each other's positives.
//!
//! ```text
//! L = E_{z} E_{x, y ~ p(x|z) p(y|z)} [ log( exp s_xy + sum_j exp s_{x y_j} ) - s_xy ]                (eq. 3)
//!
//! paper     L = 1/(2b) sum_i l_i
//! released  L = temperature/base_temperature 1/(2b) sum_i l_i
//! l_i = - 1/|P(i)| sum_{p in P(i)} [ s_ip - log sum_{a != i} exp s_ia ]
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! with `P(i)` the other rows of the anchor's cluster. Tsai et al., *Conditional Contrastive Learning with Kernel* (2022), with the
//! sign of a loss; *Learning Weakly-Supervised Contrastive Representations* (2022). `labels`, `[b]`, are cluster ids: computed by
//! k-means, or by grouping equal rows of the `k` binary attributes of highest entropy (see [`crate::eval::cluster`]).
//!
//! Equation 3 draws one positive of the anchor's cluster; its mean over a batch, with all other rows in the
//! denominator, is the lines below it, [`SupCon`] with cluster ids for labels, as in the repository of the second
//! paper. Variants, parameters and the degenerate cases are those of [`SupCon`], except that `released` is the
//! default here; it multiplies by `temperature / base_temperature`. Published: temperature 0.1, 200 clusters of
//! CLIP features on ImageNet-100.
//!
//! Use it if samples of one cluster should have similar embeddings. For a continuous condition see
//! [`WeakSupCclk`](crate::loss::WeakSupCclk).

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Evaluation, Objective, Variant};
use crate::loss::reduction::{BASE_TEMPERATURE, REDUCTION, Reduction};
use crate::loss::spec::{CLUSTERS, Described, Family, Form, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::supervised::supcon::SupCon;

/// WeaklySup-InfoNCE; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `labels`, `[b]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WeakSupInfoNce {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Divisor of the temperature in the released factor (variant `released` only), 1e-12 to 1e12.
    pub base_temperature: f64,
    /// Mean or sum over the anchors.
    pub reduction: Reduction,
    /// `released` multiplies by the factor, `paper` does not.
    pub variant: Variant,
}

impl Default for WeakSupInfoNce {
    fn default() -> Self {
        Self {
            temperature: 0.1,
            base_temperature: 0.07,
            reduction: Reduction::Mean,
            variant: Variant::Released,
        }
    }
}

impl WeakSupInfoNce {
    fn as_supcon(&self) -> SupCon {
        let Self { temperature, base_temperature, reduction, variant } = *self;
        SupCon { temperature, base_temperature, reduction, variant }
    }
}

impl Described for WeakSupInfoNce {
    const SPEC: Spec = Spec {
        name: "weaksup-info-nce",
        title: "WeaklySup-InfoNCE",
        family: Family::InfoNce,
        summary: "clusters as classes",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 3",
        formula: "paper     L = 1/(2b) sum_i l_i\n\
            released  L = temperature/base_temperature 1/(2b) sum_i l_i\n\
            l_i = - 1/|P(i)| sum_{p in P(i)} [ attract{s_ip} - repel{log sum_{a != i} exp s_ia} ]\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "P(i) the other rows of the anchor's cluster",
        inputs: &[VIEW_A, VIEW_B, CLUSTERS],
        algorithms: &["single", "cached"],
        variants: &[
            Form::new("released", "times temperature / base_temperature"),
            Form::new("paper", "without that factor"),
        ],
        keeps_condition: true,
        parameters: &[Parameter::temperature(0.1), BASE_TEMPERATURE, REDUCTION],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("../supervised/supcon.py"),
            include_str!("weaksup_info_nce.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for WeakSupInfoNce {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        self.as_supcon().evaluate(batch).map_err(|error| error.for_objective(self.name()))
    }
}
