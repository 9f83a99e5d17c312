//! Objectives: one file each, with the paper's equation, its symbols, and what differs in the released code.
//!
//! An objective is evaluated on a [`Batch`] of named inputs and returns its loss together with the gradient with
//! respect to every differentiable input. [`loss`] hands that gradient to Burn's autodiff, so that an objective
//! fits into any training loop:
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use simile_core::batch::Batch;
//! use simile_core::matrix::Matrix;
//! use simile_core::objective;
//!
//! # fn main() -> simile_core::error::Result<()> {
//! let device = Device::flex().autodiff();
//! let weight = Tensor::<2>::random([8, 4], Distribution::Default, &device).require_grad();
//! let image = Tensor::<2>::random([16, 8], Distribution::Default, &device);
//! let noise = Tensor::<2>::random([16, 8], Distribution::Default, &device) * 0.1;
//! let colour = Matrix::from_fn(16, 3, |i, j| ((i * 7 + j * 5) % 11) as f64);
//!
//! let fair = objective::build("fair-cclk", None, serde_json::json!({ "kernel": { "name": "cosine" } }))?;
//! let view_a = image.clone().matmul(weight.clone());
//! let view_b = (image + noise).matmul(weight.clone());
//! let batch = Batch::views(view_a, view_b).with_condition("z", colour);
//!
//! let gradients = objective::loss(fair.as_ref(), &batch)?.backward();
//! let step = weight.grad(&gradients).map(|g| g * 0.1);
//! assert!(step.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! # Pages
//!
//! | name | what it learns from | page |
//! |---|---|---|
//! | `info-nce`, `fair-info-nce` | two views; negatives of one cluster | [`info_nce`] |
//! | `nt-xent` | two views, all other rows as negatives | [`nt_xent`] |
//! | `weaksup-info-nce` | clusters as classes | [`weaksup_info_nce`] |
//! | `dcl`, `hcl` | corrected negatives; hard negatives | [`dcl`], [`hcl`] |
//! | `weaksup-cclk`, `fair-cclk`, `hardneg-cclk` | a continuous condition, through a kernel | [`cclk`] |
//! | `fair-cclk-trainable` | the same with a learned bandwidth | [`cclk::trainable`] |
//! | `supcon` | labels | [`supcon`] |
//! | `contex`, `contex-p` | labels, and bias labels if there are | [`contex`], [`contex_clipped`] |
//! | `biascon`, `biascon-total`, `softcon` | labels and bias labels, or a biased network in their place | [`biascon`], [`biascon_total`], [`softcon`] |
//! | `wcl-triplet`, `wcl-weighted-infonce`, `wcl-weighted-dcl` | two views and a biased network | [`wcl`] |
//! | `decoupled-uniformity`, `kernel-decoupled-uniformity` | any number of views; prior knowledge | [`decoupled_uniformity`], [`kernel_decoupled_uniformity`] |
//! | `dc`, `dclw` | two views, small batches | [`dc`] |
//! | `align-uniform` | two views | [`align_uniform`] |
//! | `byol` | a moving average of the network | [`byol`] |
//! | `barlow-twins` | correlations of features | [`barlow_twins`] |
//! | `swav`, `swav-sinkhorn` | soft clusters | [`swav`] |
//! | `moco`, `cmc` | a queue of keys; memory banks of two kinds of view | [`moco`], [`cmc`] |
//! | `vae` | the pixels, and a decoder | [`vae`] |
//! | `cross-entropy`, `max-margin` | labels, on class scores | [`cross_entropy`], [`max_margin`] |
//! | `biasbal`, `di`, `end` | labels and bias labels, on class scores | [`bias_balance`], [`domain_independent`], [`end`] |
//! | `lnl`, `lnl-adversary` | labels against a bias predictor | [`lnl`] |
//! | `learned-mixin`, `rubi`, `rebias-hsic` | labels against a biased network | [`learned_mixin`], [`rubi`], [`hsic`] |
//! | `gce`, `lff`, `jtt` | labels, and which samples are hard | [`generalised_cross_entropy`], [`lff`], [`jtt`] |
//!
//! # Degenerate input
//!
//! The same everywhere: finite input never gives a NaN. Input that is not finite, or of the wrong shape, is an error
//! that names it. A zero embedding has cosine 0 with everything and gradient 0. An anchor on which the formula is not
//! defined (no positive, no negative) contributes what its objective's page says, with gradient 0.

pub mod align_uniform;
pub mod barlow_twins;
pub mod bias_balance;
pub mod biascon;
pub mod biascon_total;
pub mod byol;
pub mod cclk;
pub mod cmc;
pub mod contex;
pub mod contex_clipped;
pub mod cross_entropy;
pub mod dc;
pub mod dcl;
pub mod decoupled_uniformity;
pub mod domain_independent;
pub mod end;
#[cfg(test)]
pub(crate) mod finite_difference;
pub mod generalised_cross_entropy;
pub mod hcl;
pub mod hsic;
pub mod info_nce;
pub mod jtt;
pub mod kernel_decoupled_uniformity;
pub mod learned_mixin;
pub mod lff;
pub mod lnl;
mod logits;
pub mod max_margin;
pub mod moco;
pub mod nt_xent;
mod reduction;
mod registry;
pub mod rubi;
pub mod softcon;
pub mod supcon;
pub mod swav;
mod uniformity;
pub mod vae;
mod views;
pub mod wcl;
pub mod weaksup_info_nce;

use std::collections::BTreeMap;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::error::Result;
use crate::matrix::Matrix;

pub use align_uniform::AlignUniform;
pub use barlow_twins::BarlowTwins;
pub use bias_balance::{BiasBalance, bias_prior};
pub use biascon::BiasCon;
pub use biascon_total::BiasConTotal;
pub use byol::Byol;
pub use cclk::{
    Estimate, FairCclk, HardNegCclk, KernelWeights, TrainableFairCclk, TrainableKernel, WeakSupCclk,
};
pub use cmc::Cmc;
pub use contex::ConTeX;
pub use contex_clipped::ConTeXClipped;
pub use cross_entropy::CrossEntropy;
pub use dc::{Dc, Dclw};
pub use dcl::Dcl;
pub use decoupled_uniformity::DecoupledUniformity;
pub use domain_independent::{DomainIndependent, Inference};
pub use end::End;
pub use generalised_cross_entropy::GeneralisedCrossEntropy;
pub use hcl::Hcl;
pub use hsic::{RebiasHsic, unbiased_hsic};
pub use info_nce::{FairInfoNce, InfoNce};
pub use jtt::{Jtt, error_set, error_weights};
pub use kernel_decoupled_uniformity::KernelDecoupledUniformity;
pub use learned_mixin::LearnedMixin;
pub use lff::{Lff, LffWeights};
pub use lnl::{Lnl, LnlAdversary, reverse_gradient};
pub(crate) use logits::cross_entropies;
pub use max_margin::MaxMargin;
pub use moco::{KeyQueue, MoCo};
pub use nt_xent::NtXent;
pub use reduction::Reduction;
pub use registry::{ObjectiveConfig, build, names};
pub use rubi::Rubi;
pub use softcon::SoftCon;
pub use supcon::SupCon;
pub use swav::{Swav, SwavSinkhorn, sinkhorn};
pub use vae::Vae;
pub use wcl::{Correction, Distance, WclTriplet, WclWeightedDcl, WclWeightedInfoNce};
pub use weaksup_info_nce::WeakSupInfoNce;

/// Which of two formulas an objective means, where the paper and its released code differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The equation as printed.
    #[default]
    Paper,
    /// The code as released.
    Released,
}

/// Where an objective has its conditioning variable from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conditioning {
    /// It has none.
    #[default]
    None,
    /// The input `z`, which has to be given.
    Given,
    /// The samples' own representations, `z_a` and `z_b`, unless `z` is given.
    Representation,
}

/// A loss of a batch, with its gradient.
pub trait Objective: std::fmt::Debug + Send + Sync {
    /// The name in recipes and case files.
    fn name(&self) -> &'static str;

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the parameter that is out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Where it has its conditioning variable from.
    fn conditioning(&self) -> Conditioning {
        Conditioning::None
    }

    /// The loss of a batch and its gradient with respect to the inputs as they are given.
    ///
    /// # Errors
    /// A missing or ill-shaped input, or a batch on which the objective is not defined.
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation>;
}

/// A loss with its gradient.
#[derive(Debug)]
pub struct Evaluation {
    /// The loss, `[1]`.
    pub loss: Tensor<1>,
    /// Gradients by the name of the input.
    pub gradients: BTreeMap<String, Tensor<2>>,
    /// Parts of the loss, weights and other intermediate results, by name.
    pub aux: BTreeMap<String, Aux>,
}

/// An intermediate result.
#[derive(Debug, Clone)]
pub enum Aux {
    /// A number known on the host.
    Number(f64),
    /// One number on the device.
    Scalar(Tensor<1>),
    /// One number for each sample or anchor.
    Vector(Tensor<1>),
    /// A matrix on the device.
    Tensor(Tensor<2>),
    /// A matrix on the host.
    Matrix(Matrix),
}

impl Evaluation {
    /// A loss without gradients yet.
    pub fn new(loss: Tensor<1>) -> Self {
        Self { loss, gradients: BTreeMap::new(), aux: BTreeMap::new() }
    }

    /// Adds a gradient.
    #[must_use]
    pub fn with_gradient(mut self, input: &str, gradient: Tensor<2>) -> Self {
        self.gradients.insert(input.into(), gradient);
        self
    }

    /// Adds the two parts of the loss, if details are asked for: `positive`, what the similarities of the positive
    /// pairs alone contribute, and `negative`, the rest.
    #[must_use]
    pub(crate) fn in_parts(self, batch: &Batch, positive: impl FnOnce() -> Tensor<1>) -> Self {
        if !batch.is_detailed() {
            return self;
        }
        let positive = positive();
        let negative = self.loss.clone() - positive.clone();
        self.with_aux("positive", Aux::Scalar(positive)).with_aux("negative", Aux::Scalar(negative))
    }

    /// Adds an intermediate result.
    #[must_use]
    pub fn with_aux(mut self, name: &str, value: Aux) -> Self {
        self.aux.insert(name.into(), value);
        self
    }
}

/// The loss of a batch as a node of Burn's autodiff graph: its value is the objective's, and `backward` carries the
/// objective's gradient into whatever computed the inputs.
///
/// # Errors
/// As [`Objective::evaluate`].
pub fn loss(objective: &dyn Objective, batch: &Batch) -> Result<Tensor<1>> {
    let Evaluation { loss, gradients, .. } = objective.evaluate(batch)?;
    let mut total = loss;
    for (name, gradient) in gradients {
        if let Some(input) = batch.tracked(&name).filter(|t| t.is_autodiff()) {
            // The inner product has the gradient wanted; taking its own value away leaves the loss's.
            let product = (input.clone() * gradient.autodiff()).sum();
            total = product.clone() - product.detach().inner() + total;
        }
    }
    Ok(total)
}

/// The batch with the representations of both views as `z_a` and `z_b`, on the host and without a gradient, where the
/// objective conditions on them and no other condition is given. `representations` are the encoder's embeddings, which
/// no head has changed and nothing has normalised; they are asked for only then.
///
/// # Errors
/// The device failed, or is WebGPU in a page, from which nothing can be read without waiting.
pub fn with_representations(
    objective: &dyn Objective,
    batch: Batch,
    representations: impl FnOnce() -> [Tensor<2>; 2],
) -> Result<Batch> {
    let is_given = batch.has_condition("z") || batch.has_condition("z_a");
    if objective.conditioning() != Conditioning::Representation || is_given {
        return Ok(batch);
    }
    let [a, b] = representations();
    let read = Batch::default().with_tensor("z_a", a).with_tensor("z_b", b);
    let (a, b) = (read.host(objective.name(), "z_a")?, read.host(objective.name(), "z_b")?);
    Ok(batch.with_condition("z_a", a).with_condition("z_b", b))
}

/// Evaluates a scalar function of tensors by autodiff, for objectives outside the one equation.
///
/// Returns the value and one gradient for each input; an input that the value does not depend on has gradient 0.
/// `value` must multiply by a reciprocal instead of dividing by a number, which Burn 0.22 differentiates in `f32`.
pub(crate) fn differentiate<const N: usize>(
    inputs: [Tensor<2>; N],
    value: impl FnOnce([Tensor<2>; N]) -> Tensor<1>,
) -> (Tensor<1>, [Tensor<2>; N]) {
    let leaves = inputs.map(|t| t.without_autodiff().autodiff().require_grad());
    let value = value(leaves.clone());
    let mut gradients = value.is_tracked().then(|| value.backward());
    let collected = leaves.map(|leaf| {
        let gradient = gradients.as_mut().and_then(|g| leaf.grad_remove(g));
        gradient.unwrap_or_else(|| leaf.zeros_like().inner())
    });
    (value.inner(), collected)
}
