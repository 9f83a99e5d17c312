//! LARS, layer-wise adaptive rate scaling (You, Gitman & Ginsburg 2017), in the two variants that the works here
//! used.
//!
//! ```text
//! released by CCLK     λ = η ‖w‖ / (‖g‖ + β ‖w‖)          for every tensor
//! SimCLR               λ = η ‖w‖ / ‖g + β w‖              if both norms > 0, else 1
//!                      λ = 1 and β = 0                    for `excluded` tensors: biases and normalisation
//! both                 v ← μ v + γ λ (g + β w),   w ← w − v
//! ```
//!
//! where `γ` is the learning rate, `η` the trust coefficient, `β` the weight decay and `μ` the momentum. The
//! learning rate is multiplied in *before* the momentum buffer, so a change of the schedule affects the weights
//! with a delay; Burn has no LARS.
//!
//! * Released: a tensor that starts at zero (a batch-norm shift) has rate 0 and never changes. If the gradient is
//!   zero too, the released code divides 0 by 0 and turns the weights into NaN; here the tensor keeps its value.
//! * SimCLR excludes by name (`bias`, `batch_normalization`); those tensors have one dimension, which is tested here, or
//!   are called `bias`. Without a list of names the released code excludes nothing:
//!   `excluded = "none"`.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, single, within};

/// The variant of LARS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LarsVariant {
    /// As CCLK released it: every tensor is adapted and decays.
    Released,
    /// As SimCLR released it: biases and normalisation are neither adapted nor decayed.
    #[default]
    Simclr,
}

/// The tensors that are neither adapted nor decayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Excluded {
    /// None: every tensor is adapted and decays.
    None,
    /// Tensors of one dimension, and those whose name ends in `bias`.
    BiasAndNormalisation,
}

/// Settings of LARS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lars {
    /// The variant. Default: `simclr`.
    pub variant: LarsVariant,
    /// The tensors that are neither adapted nor decayed; `bias-and-normalisation` if absent. Only for variant
    /// `simclr`: the other variant excludes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded: Option<Excluded>,
    /// `γ`, above 0 to 3.4e38. Default: 1.5, as CCLK for a batch of 256; its rate grows with the batch, `1.5 · b / 256`.
    pub learning_rate: f64,
    /// `μ`, 0 to 1. Default: 0.9.
    pub momentum: f64,
    /// `β`, 0 to 3.4e38. Default: 1e-6, as CCLK; SimCLR has 1e-4.
    pub weight_decay: f64,
    /// Trust coefficient `η`, 0 to 3.4e38. Default: 1e-3.
    pub eta: f64,
    /// Maximum norm of the gradient `g` of the whole model, above 0: `g` is multiplied by `min(1, clip_norm / (‖g‖ + 1e-6))`, as by
    /// PyTorch's `clip_grad_norm_`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
}

impl Default for Lars {
    fn default() -> Self {
        Self {
            variant: LarsVariant::default(),
            excluded: None,
            learning_rate: 1.5,
            momentum: 0.9,
            weight_decay: 1e-6,
            eta: 1e-3,
            clip_norm: None,
        }
    }
}

impl Lars {
    pub(super) fn validate(&self) -> Result<()> {
        if self.variant == LarsVariant::Released && self.excluded == Some(Excluded::BiasAndNormalisation) {
            let reason = "but CCLK's LARS adapts every tensor; set the variant to simclr";
            return Err(Error::parameter("optimizer.excluded", "bias-and-normalisation", reason));
        }
        within("optimizer.momentum", self.momentum, 0.0, 1.0)?;
        single("optimizer.weight_decay", self.weight_decay)?;
        single("optimizer.eta", self.eta).map(drop)
    }

    /// The new velocity. `vector` is true of biases and normalisation.
    pub(super) fn velocity(
        &self,
        learning_rate: f64,
        weight: &Tensor<1>,
        gradient: Tensor<1>,
        velocity: Option<Tensor<1>>,
        vector: bool,
    ) -> Tensor<1> {
        let push = match self.variant {
            LarsVariant::Simclr if vector && self.excluded != Some(Excluded::None) => {
                gradient * learning_rate
            }
            LarsVariant::Simclr => {
                let gradient = gradient + weight.clone() * self.weight_decay;
                let (weight_norm, gradient_norm) = (norm(weight.clone()), norm(gradient.clone()));
                let undefined =
                    weight_norm.clone().equal_elem(0.0).bool_or(gradient_norm.clone().equal_elem(0.0));
                let trust = weight_norm * self.eta / gradient_norm.mask_fill(undefined.clone(), 1.0);
                gradient * (trust.mask_fill(undefined, 1.0) * learning_rate)
            }
            LarsVariant::Released => {
                let weight_norm = norm(weight.clone());
                let denominator = norm(gradient.clone()) + weight_norm.clone() * self.weight_decay;
                let still = denominator.clone().equal_elem(0.0);
                let rate = weight_norm * self.eta / denominator.mask_fill(still, 1.0);
                (gradient + weight.clone() * self.weight_decay) * (rate * learning_rate)
            }
        };
        match velocity {
            Some(velocity) => velocity * self.momentum + push,
            None => push,
        }
    }
}

fn norm(values: Tensor<1>) -> Tensor<1> {
    values.square().sum().sqrt()
}
