//! The memory of a step, estimated from the settings alone, before there is any tensor.
//!
//! ```text
//! 4 p (2 + slots)             parameters p, their gradients, the optimiser's state; 4 p for each network that follows
//! + 4 Σ n a                   n images through each network at once, of which it keeps a numbers; 2 Σ n a in bf16
//! + 12 b c s²                 the batch of b images of c channels and s pixels a side, and its two views
//! ```
//!
//! It is a lower bound: buffers of single operations, and pages that an allocator keeps, come on top.

use super::{Precision, TrainerConfig};
use crate::algorithm::{Load, Networks, StepSize};
use crate::nn::EncoderConfig;

/// Bytes of a number.
pub(super) const NUMBER: u64 = 4;
/// Bytes of a number in half precision.
const HALF: u64 = 2;

/// The least memory of a training step on its device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepMemory {
    /// Parameters, gradients, the optimiser's state, and networks that follow.
    pub parameters: u64,
    /// Numbers that are kept for the gradient.
    pub activations: u64,
    /// The images of the batch and their views.
    pub images: u64,
    /// The largest tensor, which is part of these.
    pub largest: u64,
}

impl StepMemory {
    /// All together.
    pub fn total(&self) -> u64 {
        self.parameters.saturating_add(self.activations).saturating_add(self.images)
    }
}

impl TrainerConfig {
    /// The least memory of a step of a size. Only objective, algorithm, network, head, optimiser, average, accumulation and
    /// precision count.
    pub fn step_memory(&self, size: StepSize) -> StepMemory {
        let Load { trained, fixed, kept, largest, waiting, .. } = self.load(size);
        let copies =
            2 + self.optimizer.slots() + u64::from(self.accumulate > 1) + u64::from(self.ema.is_some());
        let number = self.number();
        let EncoderConfig { channels, input_size, .. } = self.encoder;
        let image = (channels * input_size.pow(2)) as u64;
        let images = 3 * size.samples as u64 + 2 * size.classified.unwrap_or(0) as u64 + waiting;
        StepMemory {
            parameters: NUMBER * (trained * copies + fixed),
            activations: number.saturating_mul(kept),
            images: NUMBER.saturating_mul(images.saturating_mul(image)),
            largest: number.saturating_mul(largest),
        }
    }

    pub(super) fn load(&self, size: StepSize) -> Load {
        let networks =
            Networks { encoder: self.encoder.clone(), head: self.head.clone(), ..Networks::default() };
        self.algorithm.load(&networks, &self.objective.name, size)
    }

    /// Bytes of a number in the network.
    pub(super) fn number(&self) -> u64 {
        match self.precision {
            Precision::Bf16 if self.encoder.name.computes_in_half() => HALF,
            _ => NUMBER,
        }
    }
}
