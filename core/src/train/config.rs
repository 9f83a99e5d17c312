//! The settings of a run, and the precision of its encoders.

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
    /// The objective.
    #[serde(default)]
    pub objective: ObjectiveConfig,
    /// The algorithm: the training state beside the network.
    #[serde(default, rename = "method")]
    pub algorithm: AlgorithmConfig,
    /// The network.
    #[serde(default)]
    pub encoder: EncoderConfig,
    /// The projection head, or a head with class scores.
    #[serde(default)]
    pub head: HeadConfig,
    /// The optimiser with its base learning rate.
    #[serde(default)]
    pub optimizer: OptimizerConfig,
    /// The learning-rate schedule.
    #[serde(default)]
    pub schedule: Schedule,
    /// Number of steps of the whole run.
    pub steps: u64,
    /// Number of steps of one epoch, for schedules that change once an epoch.
    pub steps_per_epoch: u64,
    /// True if batch norm takes the statistics of each view separately, as in the released code of CCL-K; false for both
    /// together.
    #[serde(default, rename = "views_apart")]
    pub per_view_batch_norm: bool,
    /// Seed of the network, the order of samples, and the views.
    #[serde(default)]
    pub seed: u64,
    /// Momentum of an exponential moving average of the network; the average is then the network that is evaluated
    /// and saved. None by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ema: Option<f64>,
    /// Number of steps whose gradients are averaged for one update of the network. Default: 1.
    ///
    /// Each of them is a separate batch: batch norm takes its statistics from it and updates its running averages,
    /// and a loss only compares samples within it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub accumulate: u64,
    /// The precision of encoders in training. Default: `f32`.
    #[serde(default, skip_serializing_if = "Precision::is_default")]
    pub precision: Precision,
    /// Initial weights of the encoder; random if absent. Not part of the state: a resumed run no longer needs them, but for `jtt`,
    /// whose second network also begins with them.
    #[serde(skip)]
    pub weights: Option<Arc<Weights>>,
}

/// The precision of encoders in training. Parameters, statistics of batch norm, heads, losses and updates are
/// always `f32`, and so is everything outside of training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats with the exponent of 32-bit floats, if the device supports them.
    Bf16,
}

impl Precision {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that a device supports the precision for an encoder. It needs no data, so that a run can check it
    /// before it reads any.
    ///
    /// # Errors
    /// [`Error::Parameter`] names `train.precision`.
    pub fn check(self, encoder: &EncoderConfig, device: &Device) -> Result<(), Error> {
        let refuse = |reason: &str| Err(Error::parameter("train.precision", "bf16", reason));
        match (self, encoder.name) {
            (Self::F32, _) => Ok(()),
            (Self::Bf16, name) if !name.computes_in_half() => {
                let f32_alone = Architecture::ALL.iter().filter(|name| !name.computes_in_half());
                let names: Vec<&str> = f32_alone.map(|name| name.name()).collect();
                let names = names.join(" and ");
                refuse(&format!("{names} compute in f32 alone; leave it out, or take another encoder"))
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
    /// Zero steps: the caller must set the number.
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

    /// Checks the settings beside those of the algorithm, for a device.
    pub(super) fn check(&self, device: &Device) -> Result<(), Error> {
        self.schedule.validate()?;
        if let Some(ema) = self.ema {
            within("train.ema", ema, 0.0, 1.0)?;
        }
        if self.accumulate == 0 {
            return Err(Error::parameter("train.accumulate", 0, "expected 1 or more"));
        }
        self.precision.check(&self.encoder, device)
    }
}
