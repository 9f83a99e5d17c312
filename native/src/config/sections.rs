//! The sections of a recipe that belong to the command line; the others are core's own settings.

use serde::{Deserialize, Serialize};
use simile_core::augment::Augmentation;
use simile_core::nn::head::{HeadConfig, HeadKind};
use simile_core::train::{Precision, Sampling};

use super::fault::Fault;

/// `[classified]`: the images whose classes are learned beside a contrastive objective, by a method with a classifier.
/// Without the section they are the batch's own first views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassifiedSection {
    /// Number of these images in a step; their order is separate from that of the views.
    pub(crate) batch: usize,
    /// Their augmentation; none if absent.
    #[serde(default, deserialize_with = "super::views::deserialize")]
    pub(crate) augment: Augmentation,
}

/// `[train]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrainSection {
    pub(crate) batch: usize,
    pub(crate) iterations: usize,
    #[serde(default)]
    pub(crate) seed: u64,
    /// True if the images at the end of an epoch that do not fill a batch are left out, so that all steps have the same
    /// shapes; the next epoch has another order. If absent, the device decides: true on GPUs, which compile and choose
    /// kernels for each shape, false on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) drop_last: Option<bool>,
    /// True if batch norm uses the statistics of each view separately, as released; false if of both together.
    #[serde(default, rename = "views_apart")]
    pub(crate) per_view_batch_norm: bool,
    /// Decay of the moving average of the network at each update; the average is evaluated and saved. No average if
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ema: Option<f64>,
    /// Iterations whose gradients are averaged for one update of the network.
    #[serde(default = "default_accumulate")]
    pub(crate) accumulate: usize,
    /// The float type of encoders in training.
    #[serde(default)]
    pub(crate) precision: Precision,
    /// The mean loss of every so many iterations is a line of `metrics.jsonl`. Reading it waits for the device.
    #[serde(default = "default_log_every")]
    pub(crate) log_every: usize,
    /// Iterations between two checkpoints, from which a run can resume.
    #[serde(default = "default_checkpoint_every")]
    pub(crate) checkpoint_every: usize,
    /// Most minutes between two checkpoints. No result of the run depends on it.
    #[serde(default = "default_checkpoint_minutes")]
    pub(crate) checkpoint_minutes: f64,
}

/// `[head]`: the layers between the embedding and the objective. Omitted keys follow from the objective: a linear layer
/// with a score for each class, or the released projection head.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HeadSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<HeadKind>,
    /// Width of the hidden layer; the embedding size if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden: Option<usize>,
    /// Width of the projections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<usize>,
}

/// `[smoke]`: the size of the run that a smoke test stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SmokeSection {
    pub(crate) iterations: usize,
    pub(crate) batch: usize,
}

fn default_accumulate() -> usize {
    1
}

fn default_log_every() -> usize {
    5
}

fn default_checkpoint_every() -> usize {
    200
}

fn default_checkpoint_minutes() -> f64 {
    10.0
}

impl TrainSection {
    /// Sets the values that the recipe leaves to the devices of a new run. A run that goes on elsewhere keeps them.
    pub(crate) fn set_device_defaults(&mut self, on_gpu: bool) {
        if on_gpu {
            self.drop_last.get_or_insert(true);
        }
    }

    /// The order of shuffled batches of so many images.
    pub(crate) fn sampling(&self, samples: usize) -> Sampling {
        let drop_last = self.drops_last(self.batch, samples);
        Sampling { samples, batch: self.batch, drop_last, seed: self.seed }
    }

    /// True if an epoch of so many images ends with its last full batch; otherwise a last batch of a single image alone is left out.
    /// A batch of more than all images is all of them, in every step.
    pub(crate) fn drops_last(&self, batch: usize, images: usize) -> bool {
        self.drop_last.unwrap_or(false) && batch <= images
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        let counts = [
            ("batch", self.batch, 2),
            ("iterations", self.iterations, 1),
            ("accumulate", self.accumulate, 1),
            ("log_every", self.log_every, 1),
            ("checkpoint_every", self.checkpoint_every, 1),
        ];
        match counts.into_iter().find(|(_, count, least)| count < least) {
            Some((key, _, least)) => {
                Err(Fault::new("train", key, format!("`train.{key}` must be at least {least}")))
            }
            None if self.checkpoint_minutes.is_nan() || self.checkpoint_minutes <= 0.0 => {
                let reason = "`train.checkpoint_minutes` must be above 0";
                Err(Fault::new("train", "checkpoint_minutes", reason))
            }
            None if self.ema.is_some_and(|ema| !(0.0..1.0).contains(&ema)) => Err(Fault::new(
                "train",
                "ema",
                "`train.ema` must be from 0 to below 1: with 1 the average never changes",
            )),
            None if !self.iterations.is_multiple_of(self.accumulate) => {
                let reason =
                    "`train.iterations` must be a multiple of `train.accumulate`; the rest would be lost";
                Err(Fault::new("train", "accumulate", reason))
            }
            None => Ok(()),
        }
    }
}

impl HeadSection {
    /// The head of a network with that number of `scores`; without it, one for projections. The width that a recipe names is that of
    /// projections: it serves all variants, and scores are as many as there are classes.
    pub(crate) fn of(&self, scores: Option<usize>) -> HeadConfig {
        let default = HeadConfig::default();
        let kind = if scores.is_some() { HeadKind::Linear } else { default.kind };
        HeadConfig {
            kind: self.kind.unwrap_or(kind),
            hidden: self.hidden,
            output: scores.or(self.output).unwrap_or(default.output),
        }
    }
}
