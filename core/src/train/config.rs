//! The settings of a run, and what its encoders compute in.

use std::sync::Arc;

use burn::tensor::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::algorithm::AlgorithmConfig;
use crate::error::{Error, within};
use crate::loss::ObjectiveConfig;
use crate::nn::checkpoint::Weights;
use crate::nn::head::HeadConfig;
use crate::nn::{Architecture, EncoderConfig};
use crate::optim::schedule::Schedule;
use crate::optim::{Optimizer, OptimizerConfig};

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainerConfig {
    /// What is minimised.
    #[serde(default)]
    pub objective: ObjectiveConfig,
    /// What stands beside the network while it is.
    #[serde(default, rename = "method")]
    pub algorithm: AlgorithmConfig,
    /// The network.
    #[serde(default)]
    pub encoder: EncoderConfig,
    /// The projection head, or the one that gives class scores.
    #[serde(default)]
    pub head: HeadConfig,
    /// The optimiser with its base learning rate.
    #[serde(default)]
    pub optimizer: OptimizerConfig,
    /// How the learning rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps of one epoch, for schedules that change once an epoch.
    pub steps_per_epoch: u64,
    /// Whether batch norm takes the statistics of each view apart, as CCLK released it, or of both together.
    #[serde(default, rename = "views_apart")]
    pub per_view_batch_norm: bool,
    /// Seed of the network, the order of samples, and the views.
    #[serde(default)]
    pub seed: u64,
    /// Share that an exponential moving average of the network keeps at each update of it; the average is then the
    /// network that is evaluated and saved. None by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ema: Option<f64>,
    /// Steps whose gradients are averaged for one update of the network. Default: 1.
    ///
    /// Each of them is a batch of its own: batch norm takes its statistics from it and moves its running averages, and a
    /// loss compares samples within it alone.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub accumulate: u64,
    /// What encoders compute in as they train. Default: `f32`.
    #[serde(default, skip_serializing_if = "Precision::is_default")]
    pub precision: Precision,
    /// Where the encoder starts; at random if absent. No part of the state: a run that goes on has moved on from it.
    #[serde(skip)]
    pub weights: Option<Arc<Weights>>,
}

/// What encoders compute in as they train. Parameters, statistics of batch norm, heads, losses and updates are `f32` in
/// either case, and so is everything outside of training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats with the exponent of 32-bit ones, where the device has them.
    Bf16,
}

impl Precision {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that an encoder can compute in it on a device. It takes no data, so that a run can ask before it reads any.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming `train.precision`.
    pub fn check(self, encoder: &EncoderConfig, device: &Device) -> Result<(), Error> {
        let refuse = |reason: &str| Err(Error::parameter("train.precision", "bf16", reason));
        match (self, encoder.name) {
            (Self::F32, _) => Ok(()),
            (Self::Bf16, name) if !name.computes_in_half() => {
                let f32_alone = Architecture::ALL.iter().filter(|name| !name.computes_in_half());
                let names: Vec<&str> = f32_alone.map(|name| name.name()).collect();
                refuse(&format!("{} compute in f32 alone", names.join(" and ")))
            }
            (Self::Bf16, _) if !device.supports_dtype(DType::BF16) => refuse(
                "expected f32: this device does not compute in bf16 (wgpu and Vulkan store it and lack the \
                     arithmetic); GPUs by --device cuda do, and the CPU",
            ),
            (Self::Bf16, _) => Ok(()),
        }
    }

    pub(super) fn of(self, images: Tensor<4>) -> Tensor<4> {
        match self {
            Self::F32 => images,
            Self::Bf16 => images.cast(DType::BF16),
        }
    }
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(count: &u64) -> bool {
    *count == 1
}

impl Default for TrainerConfig {
    /// No steps at all: how many is for the caller to say.
    fn default() -> Self {
        Self {
            objective: ObjectiveConfig::default(),
            algorithm: AlgorithmConfig::default(),
            encoder: EncoderConfig::default(),
            head: HeadConfig::default(),
            optimizer: OptimizerConfig::default(),
            schedule: Schedule::default(),
            steps: 0,
            steps_per_epoch: 0,
            per_view_batch_norm: false,
            seed: 0,
            ema: None,
            accumulate: one(),
            precision: Precision::default(),
            weights: None,
        }
    }
}

impl TrainerConfig {
    pub(super) fn optimizer(&self) -> Result<Optimizer, Error> {
        Ok(Optimizer::new(self.optimizer.clone())?.accumulating(self.accumulate))
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.schedule.validate()?;
        if let Some(ema) = self.ema {
            within("train.ema", ema, 0.0, 1.0)?;
        }
        if self.accumulate == 0 {
            return Err(Error::parameter("train.accumulate", 0, "expected 1 or more"));
        }
        Ok(())
    }
}
