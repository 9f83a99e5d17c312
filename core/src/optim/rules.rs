//! SGD, Adam and AdamW, as PyTorch defines them.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, positive, single, within};

/// `g + β w`, coupled weight decay.
pub(super) fn decayed(gradient: Tensor<1>, weight: &Tensor<1>, weight_decay: f64) -> Tensor<1> {
    if weight_decay == 0.0 { gradient } else { gradient + weight.clone() * weight_decay }
}

/// Settings of stochastic gradient descent: `m ← μ m + g + β w`, `w ← w − γ m`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sgd {
    /// `γ`, above 0 to 3.4e38. Default: 0.1.
    pub learning_rate: f64,
    /// `μ`, 0 to 1. Default: 0.9.
    pub momentum: f64,
    /// True for Nesterov momentum, `w ← w − γ (g + β w + μ m)`, which needs `μ` above 0. Default: false.
    pub nesterov: bool,
    /// `β`, 0 to 3.4e38. Default: 0.
    pub weight_decay: f64,
    /// Maximum norm of the gradient `g` of the whole model, above 0: `g` is multiplied by `min(1, clip_norm / (‖g‖ + 1e-6))`, as by
    /// PyTorch's `clip_grad_norm_`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
}

impl Default for Sgd {
    fn default() -> Self {
        Self { learning_rate: 0.1, momentum: 0.9, nesterov: false, weight_decay: 0.0, clip_norm: None }
    }
}

impl Sgd {
    pub(super) fn validate(&self) -> Result<()> {
        within("optimizer.momentum", self.momentum, 0.0, 1.0)?;
        if self.nesterov && self.momentum == 0.0 {
            return Err(Error::parameter("optimizer.nesterov", true, "expected a momentum above 0"));
        }
        single("optimizer.weight_decay", self.weight_decay).map(drop)
    }

    /// The direction of descent and the new momentum, if there is any.
    pub(super) fn direction(
        &self,
        weight: &Tensor<1>,
        gradient: Tensor<1>,
        momentum: Option<Tensor<1>>,
    ) -> (Tensor<1>, Option<Tensor<1>>) {
        let gradient = decayed(gradient, weight, self.weight_decay);
        if self.momentum == 0.0 {
            return (gradient, None);
        }
        let momentum = match momentum {
            Some(momentum) => momentum * self.momentum + gradient.clone(),
            None => gradient.clone(),
        };
        let direction =
            if self.nesterov { gradient + momentum.clone() * self.momentum } else { momentum.clone() };
        (direction, Some(momentum))
    }
}

/// Settings of Adam (Kingma & Ba, 2015) and AdamW (Loshchilov & Hutter, 2019).
///
/// ```text
/// m ← β₁ m + (1 − β₁) g,   v ← β₂ v + (1 − β₂) g²,   w ← w − γ m̂ / (√v̂ + ε)
/// m̂ = m / (1 − β₁ᵏ),   v̂ = v / (1 − β₂ᵏ)
/// ```
///
/// at step `k` of the tensor, from 1, with the weight decay `β`: Adam adds `β w` to `g`, AdamW subtracts `γ β w` from `w`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    /// Learning rate `γ`, above 0 to 3.4e38. Default: 1e-3.
    pub learning_rate: f64,
    /// Decay `β₁` of the first moment, 0 to below 1. Default: 0.9.
    pub beta1: f64,
    /// Decay `β₂` of the second moment, 0 to below 1. Default: 0.999.
    pub beta2: f64,
    /// `ε`, added to the root of the second moment, above 0 to 3.4e38. Default: 1e-8.
    pub epsilon: f64,
    /// Weight decay `β`, 0 to 3.4e38, coupled in Adam, decoupled in AdamW. Default: 0.
    pub weight_decay: f64,
    /// Maximum norm of the gradient `g` of the whole model, above 0: `g` is multiplied by `min(1, clip_norm / (‖g‖ + 1e-6))`, as by
    /// PyTorch's `clip_grad_norm_`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
}

impl Default for Adam {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            clip_norm: None,
        }
    }
}

impl Adam {
    pub(super) fn validate(&self) -> Result<()> {
        for (name, beta) in [("optimizer.beta1", self.beta1), ("optimizer.beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::parameter(name, beta, "expected a number from 0 to below 1"));
            }
        }
        single("optimizer.epsilon", positive("optimizer.epsilon", self.epsilon)?)?;
        single("optimizer.weight_decay", self.weight_decay).map(drop)
    }

    /// The direction of descent and the new moments; `step` is the step count of the tensor, from 1.
    pub(super) fn direction(
        &self,
        gradient: Tensor<1>,
        moments: Option<(Tensor<1>, Tensor<1>)>,
        step: u64,
    ) -> (Tensor<1>, Tensor<1>, Tensor<1>) {
        let fresh = gradient.clone() * (1.0 - self.beta1);
        let fresh_square = gradient.square() * (1.0 - self.beta2);
        let (first, second) = match moments {
            Some((first, second)) => (first * self.beta1 + fresh, second * self.beta2 + fresh_square),
            None => (fresh, fresh_square),
        };
        let power = step as f64;
        let (bias1, bias2) = (1.0 - self.beta1.powf(power), 1.0 - self.beta2.powf(power));
        let root = (second.clone() / bias2).sqrt() + self.epsilon;
        (first.clone() / bias1 / root, first, second)
    }
}
