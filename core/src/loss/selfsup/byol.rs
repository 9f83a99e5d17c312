//! BYOL: the prediction from one view matches the target network's projection of the other view.
//!
//! ```text
//! L = 1/b sum_i [ 2 - 2 cos(p_i^a, t_i^b) + 2 - 2 cos(p_i^b, t_i^a) ]
//! ```
//!
//! with the online network's predictions `view_a` `p^a`, `view_b` `p^b`, and the projections `target_a` `t^a`,
//! `target_b` `t^b` of the target network, all `[b, d]`. The target network is an exponential moving average of the
//! online network. The targets carry no gradient. Grill et al., *Bootstrap Your Own Latent* (2020), eq. 2,
//! symmetrised.
//!
//! Paper and released code agree. There are no negatives: the predictor together with
//! the moving average keeps the representation from collapsing (momentum 0.996 rising to 1 over training, 0.99
//! constant in the code from which the reference numbers come). `aux.one_way_mean` is the first of the two
//! directions.
//!
//! Defined for every batch; a zero row has cosine 0 and gradient 0.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{Described, Family, Input, InputNetworks, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// BYOL; see the [module](self). Inputs: `view_a`, `view_b`, `target_a`, `target_b`, `[b, d]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Byol {}

impl Described for Byol {
    const SPEC: Spec = Spec {
        name: "byol",
        title: "BYOL",
        family: Family::Representation,
        summary: "a moving average of the network",
        work: "Grill et al., Bootstrap Your Own Latent, 2020, eq. 2",
        formula: "L = 1/b sum_i [ 2 - 2 cos(p_i^a, t_i^b) + 2 - 2 cos(p_i^b, t_i^a) ]",
        symbols: "p the predictions, t the projections by the moving average, of the views a and b",
        inputs: &[
            VIEW_A.meaning("predictions from the first views"),
            VIEW_B.meaning("predictions from the second views"),
            Input::embeddings("target_a", "[b, d]", "projections of the first views by the moving average"),
            Input::embeddings("target_b", "[b, d]", "projections of the second views by the moving average"),
        ],
        networks: InputNetworks::Averaged,
        algorithms: &["byol"],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Byol {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let online = TwoViews::of(batch, self.name())?;
        let target = TwoViews::named(batch, self.name(), ["target_a", "target_b"])?;
        target.check_like(&online)?;
        let b = online.size as f64;
        let direction =
            |prediction: Tensor<2>, target: Tensor<2>| (prediction * target).sum() * (-2.0 / b) + 2.0;
        let a_to_b = direction(online.a.rows(), target.b.rows());
        let b_to_a = direction(online.b.rows(), target.a.rows());
        let [grad_a, grad_b] = [target.b.rows(), target.a.rows()].map(|rows| rows * (-2.0 / b));
        Ok(online
            .with_gradients(a_to_b.clone() + b_to_a, grad_a, grad_b)
            .with_aux("one_way_mean", Aux::Scalar(a_to_b)))
    }
}
